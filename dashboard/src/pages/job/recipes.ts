/** A job as a request and as a command that make another like it. */
import type { Job, NewJob } from "@/api/client";

/** What of a job was asked for, as a request says it. */
export function askedFor(job: Job) {
  const { name, schedule, target, payload, payload_base64, tags } = job;
  return {
    name,
    schedule,
    target,
    ...(payload == null ? {} : { payload }),
    ...(payload_base64 == null ? {} : { payload_base64 }),
    max_retry: job.max_retry,
    retry_base_seconds: job.retry_base_seconds,
    retry_max_seconds: job.retry_max_seconds,
    max_execution_time: job.max_execution_time,
    overlap_policy: job.overlap_policy,
    catch_up_policy: job.catch_up_policy,
    jitter_seconds: job.jitter_seconds,
    priority: job.priority,
    ...(job.quiet_hours_policy_id ? { quiet_hours_policy_id: job.quiet_hours_policy_id } : {}),
    ...(tags.length > 0 ? { tags } : {}),
  };
}

export function asCurl(job: Job): string {
  return curl(askedFor(job) as NewJob);
}

export function asCommand(job: Job): string {
  return command(askedFor(job) as NewJob);
}

/** What makes a job, as a request. */
export function curl(body: NewJob): string {
  const path = body.schedule && body.schedule.type !== "one_shot" ? "/jobs/recurring" : "/jobs";
  return [
    `curl -s ${quoted(location.origin + path)}`,
    `-H 'content-type: application/json'`,
    `-H "authorization: Bearer $TOKEN"`,
    `-d ${quoted(JSON.stringify(body, null, 2))}`,
  ].join(" \\\n  ");
}

/** What makes a job, as a command. */
export function command({ name, schedule, target, max_retry, tags }: NewJob): string {
  const words = ["chronos jobs create", quoted(name ?? "job")];
  const flag = (name: string, value: string | number | undefined | null) => {
    if (value != null) words.push(`--${name} ${typeof value === "number" ? value : quoted(value)}`);
  };
  if (schedule?.type === "cron") {
    flag("cron", schedule.expression);
    flag("tz", schedule.timezone);
  } else if (schedule?.type === "interval") flag("every", `${schedule.seconds}s`);
  else flag("at", schedule?.at);
  if (target.type === "http") {
    flag("url", target.url);
    flag("method", target.method);
  } else if (target.type === "message") flag("message", target.template.text);
  else flag("handler", target.name);
  if (max_retry) flag("retries", max_retry);
  for (const tag of tags ?? []) flag("tag", tag);
  return words.join(" ");
}

/** A word that a shell takes as it is. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
