/** A job as it is written in a form, and as the API is asked for it. */
import type { HeaderValue, Job, NewJob, Schedule, Target } from "@/api/client";
import { fromLocalField, here, inZone, toLocalField } from "@/lib/time";

export interface Header {
  key: number;
  name: string;
  value: string;
  secret: boolean;
}

export interface Draft {
  name: string;
  tags: string;
  kind: Schedule["type"];
  expression: string;
  timezone: string;
  every: string;
  unit: Unit;
  fixedDelay: boolean;
  at: string;
  startAt: string;
  endAt: string;
  maxRuns: string;
  target: Target["type"];
  url: string;
  method: string;
  headers: Header[];
  timeout: string;
  statuses: string;
  signingSecret: string;
  handler: string;
  text: string;
  structured: string;
  payload: string;
  maxRetry: string;
  retryBase: string;
  retryMax: string;
  maxExecution: string;
  overlap: string;
  catchUp: string;
  jitter: string;
  quiet: string;
  priority: string;
  catchUpMax: string;
  catchUpWindow: string;
  grace: string;
  atOnce: string;
  queued: string;
  connectTimeout: string;
  firstByteTimeout: string;
  /** What the form has no field for, and leaves as it is. */
  kept: Pick<NewJob, "notify" | "payload_base64">;
}

export const UNITS = { s: 1, min: 60, h: 3600, d: 86_400 } as const;
export type Unit = keyof typeof UNITS;

export const BLANK: Draft = {
  name: "",
  tags: "",
  kind: "cron",
  expression: "0 9 * * 1-5",
  timezone: Intl.DateTimeFormat().resolvedOptions().timeZone,
  every: "5",
  unit: "min",
  fixedDelay: false,
  at: "",
  startAt: "",
  endAt: "",
  maxRuns: "",
  target: "http",
  url: "",
  method: "POST",
  headers: [],
  timeout: "",
  statuses: "",
  signingSecret: "",
  handler: "",
  text: "",
  structured: "",
  payload: "",
  maxRetry: "3",
  retryBase: "",
  retryMax: "",
  maxExecution: "",
  overlap: "",
  catchUp: "",
  jitter: "",
  quiet: "",
  priority: "",
  catchUpMax: "",
  catchUpWindow: "",
  grace: "",
  atOnce: "",
  queued: "",
  connectTimeout: "",
  firstByteTimeout: "",
  kept: {},
};

/** What is wrong with a draft before anybody is asked, by the fields of the API. */
export type Wrong = Record<string, string>;

export function scheduleOf(draft: Draft): Schedule {
  const bounds = {
    ...(draft.startAt && { start_at: fromLocalField(draft.startAt) }),
    ...(draft.endAt && { end_at: fromLocalField(draft.endAt) }),
    ...(draft.maxRuns && { max_runs: Number(draft.maxRuns) }),
  };
  switch (draft.kind) {
    case "cron":
      return { type: "cron", expression: draft.expression, timezone: draft.timezone || undefined, ...bounds };
    case "interval": {
      const seconds = Number(draft.every) * UNITS[draft.unit];
      return { type: "interval", seconds, ...(draft.fixedDelay && { fixed_delay: true }), ...bounds };
    }
    case "one_shot":
      return { type: "one_shot", ...(draft.at && { at: inZone(draft.at, draft.timezone) }) };
  }
}

function targetOf(draft: Draft, wrong: Wrong): Target {
  switch (draft.target) {
    case "http":
      return {
        type: "http",
        url: draft.url,
        method: draft.method,
        headers: headersOf(draft.headers),
        ...(draft.timeout && { timeout_seconds: Number(draft.timeout) }),
        ...(draft.connectTimeout && { connect_timeout_seconds: Number(draft.connectTimeout) }),
        ...(draft.firstByteTimeout && { first_byte_timeout_seconds: Number(draft.firstByteTimeout) }),
        ...(draft.signingSecret && { signing_secret: draft.signingSecret }),
        ...(draft.statuses && {
          expected_statuses: draft.statuses
            .split(/[\s,]+/)
            .filter(Boolean)
            .map(Number),
        }),
      };
    case "message": {
      const structured = json(draft.structured, "target.template.structured", wrong);
      return {
        type: "message",
        template: {
          ...(draft.text && { text: draft.text }),
          ...(structured !== undefined && { structured }),
        },
      };
    }
    case "handler":
      return { type: "handler", name: draft.handler };
  }
}

function headersOf(rows: Header[]): Record<string, HeaderValue> {
  const named = rows.filter((row) => row.name.trim());
  return Object.fromEntries(
    named.map((row) => [row.name.trim(), row.secret ? { secret: row.value } : row.value]),
  );
}

function json(text: string, field: string, wrong: Wrong): unknown {
  if (!text.trim()) return undefined;
  try {
    return JSON.parse(text);
  } catch (error) {
    wrong[field] = `This is not JSON: ${error instanceof Error ? error.message : "it cannot be read"}.`;
    return undefined;
  }
}

/** What looks like JSON is meant as JSON; anything else is sent as it is. */
function payloadOf(draft: Draft, wrong: Wrong): unknown {
  const text = draft.payload.trim();
  if (!text) return undefined;
  return /^[[{]/.test(text) ? json(text, "payload", wrong) : draft.payload;
}

/** What the API is asked for, and what is wrong with it already. */
export function asked(draft: Draft): { body: NewJob; wrong: Wrong } {
  const wrong: Wrong = {};
  const payload = draft.target === "http" ? payloadOf(draft, wrong) : undefined;
  const tags = draft.tags.split(",").map((tag) => tag.trim());
  const number = (text: string) => (text ? Number(text) : undefined);
  const { notify, payload_base64 } = draft.kept;
  const isBinary = draft.target === "http" && payload === undefined && payload_base64 != null;
  const body: NewJob = {
    name: draft.name || undefined,
    schedule: scheduleOf(draft),
    target: targetOf(draft, wrong),
    payload,
    tags: tags.filter(Boolean),
    max_retry: number(draft.maxRetry),
    retry_base_seconds: number(draft.retryBase),
    retry_max_seconds: number(draft.retryMax),
    max_execution_time: number(draft.maxExecution),
    overlap_policy: (draft.overlap || undefined) as NewJob["overlap_policy"],
    catch_up_policy: (draft.catchUp || undefined) as NewJob["catch_up_policy"],
    jitter_seconds: draft.target === "message" ? undefined : number(draft.jitter),
    quiet_hours_policy_id: draft.quiet || undefined,
    priority: number(draft.priority),
    max_concurrent: draft.overlap === "concurrent" ? number(draft.atOnce) : undefined,
    max_queued: draft.overlap === "queue" ? number(draft.queued) : undefined,
    catch_up_max: draft.catchUp === "run_all_capped" ? number(draft.catchUpMax) : undefined,
    catch_up_window_seconds: number(draft.catchUpWindow),
    misfire_grace_seconds: number(draft.grace),
    ...(isBinary && { payload_base64 }),
    ...(notify && { notify }),
  };
  return { body, wrong };
}

/** A job as a form shows it. */
export function draftOf(job: Job): Draft {
  const { schedule, target } = job;
  const draft: Draft = { ...BLANK, name: job.name, tags: job.tags.join(", "), kind: schedule.type };
  if (schedule.type === "one_shot") {
    draft.at = schedule.at ? toLocalField(schedule.at) : "";
    draft.timezone = here;
  } else {
    draft.startAt = schedule.start_at ? toLocalField(schedule.start_at) : "";
    draft.endAt = schedule.end_at ? toLocalField(schedule.end_at) : "";
    draft.maxRuns = schedule.max_runs ? String(schedule.max_runs) : "";
  }
  if (schedule.type === "cron") {
    draft.expression = schedule.expression;
    draft.timezone = schedule.timezone ?? "";
  }
  if (schedule.type === "interval") {
    const fitting =
      (["d", "h", "min", "s"] as const).find((unit) => schedule.seconds % UNITS[unit] === 0) ?? "s";
    draft.unit = fitting;
    draft.every = String(schedule.seconds / UNITS[fitting]);
    draft.fixedDelay = schedule.fixed_delay ?? false;
  }
  draft.target = target.type;
  if (target.type === "http") {
    draft.url = target.url;
    draft.method = target.method ?? "POST";
    draft.headers = Object.entries(target.headers ?? {}).map(([name, value], key) => ({
      key,
      name,
      value: typeof value === "string" ? value : value.secret,
      secret: typeof value !== "string",
    }));
    draft.timeout = written(target.timeout_seconds);
    draft.connectTimeout = written(target.connect_timeout_seconds);
    draft.firstByteTimeout = written(target.first_byte_timeout_seconds);
    draft.statuses = (target.expected_statuses ?? []).join(", ");
    draft.signingSecret = target.signing_secret ?? "";
  } else if (target.type === "message") {
    draft.text = target.template.text ?? "";
    draft.structured =
      target.template.structured == null ? "" : JSON.stringify(target.template.structured, null, 2);
  } else draft.handler = target.name;
  if (job.payload != null) {
    draft.payload = typeof job.payload === "string" ? job.payload : JSON.stringify(job.payload, null, 2);
  }
  draft.maxRetry = String(job.max_retry);
  draft.retryBase = String(job.retry_base_seconds);
  draft.retryMax = String(job.retry_max_seconds);
  draft.maxExecution = written(job.max_execution_time);
  draft.overlap = job.overlap_policy;
  draft.catchUp = job.catch_up_policy;
  draft.jitter = String(job.jitter_seconds);
  draft.quiet = job.quiet_hours_policy_id ?? "";
  draft.priority = String(job.priority);
  draft.catchUpMax = written(job.catch_up_max);
  draft.catchUpWindow = written(job.catch_up_window_seconds);
  draft.grace = written(job.misfire_grace_seconds);
  draft.atOnce = written(job.max_concurrent);
  draft.queued = written(job.max_queued);
  draft.kept = { notify: job.notify, payload_base64: job.payload_base64 };
  return draft;
}

function written(number: number | null | undefined): string {
  return number == null ? "" : String(number);
}
