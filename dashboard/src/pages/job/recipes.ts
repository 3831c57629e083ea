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
    ...(job.max_concurrent == null ? {} : { max_concurrent: job.max_concurrent }),
    ...(job.max_queued == null ? {} : { max_queued: job.max_queued }),
    ...(job.catch_up_max == null ? {} : { catch_up_max: job.catch_up_max }),
    ...(job.catch_up_window_seconds == null ? {} : { catch_up_window_seconds: job.catch_up_window_seconds }),
    misfire_grace_seconds: job.misfire_grace_seconds,
    ...(job.notify ? { notify: job.notify } : {}),
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

/** What makes a job, as a command. What is secret must be written into it. */
export function command(body: NewJob): string {
  const { name, schedule, target } = body;
  const words = ["chronos jobs create", quoted(name ?? "job")];
  const flag = (name: string, value: string | number | undefined | null) => {
    if (value != null) words.push(`--${name} ${typeof value === "number" ? value : quoted(value)}`);
  };
  const span = (name: string, seconds: number | undefined | null) => {
    // Spans are whole: seconds, or thousandths of one.
    if (seconds != null)
      flag(name, Number.isInteger(seconds) ? `${seconds}s` : `${Math.round(seconds * 1000)}ms`);
  };
  if (schedule?.type === "cron") {
    flag("cron", schedule.expression);
    flag("tz", schedule.timezone);
  } else if (schedule?.type === "interval") {
    span("every", schedule.seconds);
    if (schedule.fixed_delay) words.push("--fixed-delay");
  } else flag("at", schedule?.at);
  if (schedule && schedule.type !== "one_shot") {
    flag("start-at", schedule.start_at);
    flag("end-at", schedule.end_at);
    flag("max-runs", schedule.max_runs);
  }
  if (target.type === "http") {
    words.push(`--http ${quoted(target.method ?? "POST")} ${quoted(target.url)}`);
    for (const [name, value] of Object.entries(target.headers ?? {})) {
      if (typeof value === "string") flag("header", `${name}: ${value}`);
      else flag("secret-header", `${name}: ${value.secret}`);
    }
    flag("signing-secret", target.signing_secret);
    span("timeout", target.timeout_seconds);
    if (target.expected_statuses?.length) flag("expect", target.expected_statuses.join(","));
    if (body.payload != null) {
      flag("body", typeof body.payload === "string" ? body.payload : JSON.stringify(body.payload));
    }
  } else if (target.type === "message") {
    flag("message", target.template.text);
    if (target.template.structured != null) flag("message-json", JSON.stringify(target.template.structured));
  } else flag("handler", target.name);
  const bounded = (policy: string, most: number | undefined | null) =>
    most == null ? policy : `${policy}:${most}`;
  if (body.overlap_policy) {
    flag("overlap", bounded(body.overlap_policy, body.max_concurrent ?? body.max_queued));
  }
  if (body.catch_up_policy) {
    const policies = { skip: "skip", run_once: "once", run_all_capped: `all:${body.catch_up_max ?? 10}` };
    flag("catch-up", policies[body.catch_up_policy]);
  }
  span("catch-up-window", body.catch_up_window_seconds);
  span("grace", body.misfire_grace_seconds);
  flag("priority", body.priority);
  span("jitter", body.jitter_seconds || undefined);
  flag("retries", body.max_retry);
  span("retry-base", body.retry_base_seconds);
  span("retry-max", body.retry_max_seconds);
  span("max-time", body.max_execution_time);
  flag("quiet-hours", body.quiet_hours_policy_id);
  for (const tag of body.tags ?? []) flag("tag", tag);
  return words.join(" ");
}

/** A word that a shell takes as it is. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`;
}
