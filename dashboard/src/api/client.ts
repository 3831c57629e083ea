/** The REST API, typed by its document. */
import createClient from "openapi-fetch";
import { Problem } from "./problem";
import { send } from "./reach";
import type { components, paths } from "./schema";
import { renew, session, token } from "./session";

type Schemas = components["schemas"];
export type Job = Schemas["Job"];
export type JobPage = Schemas["JobPage"];
export type NewJob = Schemas["NewJob"];
export type Schedule = Schemas["Schedule"];
export type Target = Schemas["Target"];
export type HeaderValue = Schemas["HeaderValue"];
export type Execution = Schemas["Execution"];
export type Run = Schemas["Run"];
export type QuietHours = Schemas["QuietHours"];
export type NewQuietHours = Schemas["NewQuietHours"];
export type MessageEvent = Schemas["MessageEvent"];
export type JobFigures = Schemas["JobFigures"];
export type WorkerFigures = Schemas["WorkerFigures"];
export type AuditEvent = Schemas["AuditEvent"];
export type SlotExplanation = Schemas["SlotExplanation"];
export type Subscription = Schemas["Subscription"];
export type NewSubscription = Schemas["NewSubscription"];
export type RecentRun = Schemas["RecentRun"];
export type HerdFigures = Schemas["HerdFigures"];
export type User = Schemas["User"];
export type Key = Schemas["Key"];
export type Me = Schemas["Me"];

export const api = createClient<paths>({ baseUrl: location.origin, fetch: known });

/** Sends a request with the login there is, and once more where its token was no longer taken. */
export async function known(request: Request): Promise<Response> {
  const again = request.clone();
  const used = await token();
  if (used) request.headers.set("authorization", `Bearer ${used}`);
  const response = await send(request);
  const login = session();
  if (response.status !== 401 || !used || !login) return response;
  const next = await renew(login);
  if (!next) return response;
  again.headers.set("authorization", `Bearer ${next}`);
  return send(again);
}

/** The answer's content; whatever else is thrown. */
export async function done<T>(
  answer: Promise<{ data?: T; error?: unknown; response: Response }>,
): Promise<T> {
  const { data, error, response } = await answer;
  if (response.ok) return data as T;
  throw await problem(response, error);
}

export async function problem(response: Response, said?: unknown): Promise<Problem> {
  const told = said ?? (await response.json().catch(() => null));
  if (isProblem(told)) return new Problem(told);
  const detail = `the scheduler answers ${response.status} ${response.statusText}`;
  return new Problem({ type: "about:blank", title: response.statusText, status: response.status, detail });
}

function isProblem(told: unknown): told is Schemas["Problem"] {
  return typeof told === "object" && told !== null && "detail" in told && "status" in told;
}
