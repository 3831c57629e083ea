/** How what the API says reads on a page. */
import type { Execution, Job, Schedule, Target } from "@/api/client";
import { absolute } from "./time";

export const number = new Intl.NumberFormat("en");

/** A job's status, with what its standing adds. */
export function statusOf(job: Job): string {
  if (job.running > 0) return "RUNNING";
  if (job.paused) return "PAUSED";
  return job.status;
}

const STATUS: Record<string, string> = {
  RETRY_PENDING: "Retrying",
  SUCCESS: "Succeeded",
  SUCCEEDED: "Succeeded",
  TIMED_OUT: "Timed out",
  DISABLED: "Off",
};

export function statusInWords(status: string): string {
  const known = STATUS[status.toUpperCase()];
  const plain = status.toLowerCase().replaceAll("_", " ");
  return known ?? plain.charAt(0).toUpperCase() + plain.slice(1);
}

export type Tone = "good" | "bad" | "warn" | "busy" | "plain";

export function toneOf(status: string): Tone {
  switch (status.toUpperCase()) {
    case "SUCCESS":
    case "SUCCEEDED":
      return "good";
    case "FAILED":
    case "TIMED_OUT":
    case "DEAD":
    case "LOST":
    case "STUCK":
      return "bad";
    case "RETRY_PENDING":
    case "PAUSED":
    case "SKIPPED":
    case "HELD":
      return "warn";
    case "RUNNING":
      return "busy";
    default:
      return "plain";
  }
}

/** The schedule as it was written. */
export function written(schedule: Schedule): string {
  switch (schedule.type) {
    case "cron":
      return schedule.expression;
    case "interval":
      return `every ${schedule.seconds} s`;
    case "one_shot":
      return "once";
  }
}

/** The schedule in words; one time in those of the reader. */
export function described(job: Job): string {
  const { schedule } = job;
  return schedule.type === "one_shot" && schedule.at ? `once, ${absolute(schedule.at)}` : job.description;
}

export function zoneOf(schedule: Schedule): string | undefined {
  return schedule.type === "cron" ? schedule.timezone : undefined;
}

/** What a job does, in a line. */
export function aim(target: Target): string {
  switch (target.type) {
    case "http":
      return `${target.method ?? "POST"} ${target.url}`;
    case "message":
      return target.template.text ?? JSON.stringify(target.template.structured);
    case "handler":
      return `handler ${target.name}`;
  }
}

/** Why an execution is as it is, in a line. */
export function why(execution: Execution): string {
  const cause = execution.reason ?? execution.error;
  return [cause, execution.note].filter(Boolean).join(": ");
}

export function plural(count: number, one: string, many = `${one}s`): string {
  return `${number.format(count)} ${count === 1 ? one : many}`;
}
