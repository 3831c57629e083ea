/** What pages ask for, and how long an answer is good for. */
import { queryOptions } from "@tanstack/react-query";
import { api, done, type Job, type JobPage, type Schedule } from "./client";

/** What is looked at is asked for anew this often. */
const LIVE_MS = 3_000;
/** Rows of a page. */
export const PAGE = 50;
/** Pages without a row that are walked through on the way to one. */
const PATIENCE = 20;

export interface JobFilter {
  status?: string;
  recurring?: boolean;
  name?: string;
  tag?: string;
  owner?: string;
  next_run_after?: string;
  next_run_before?: string;
  cursor?: string;
}

export const me = queryOptions({
  queryKey: ["me"],
  queryFn: () => done(api.GET("/auth/me")),
  retry: false,
  staleTime: 60_000,
});

export const jobs = (filter: JobFilter) =>
  queryOptions({
    queryKey: ["jobs", filter],
    queryFn: async ({ signal }) => {
      const items: Job[] = [];
      let cursor: string | null | undefined = filter.cursor;
      // A page may hold fewer than asked for and still lead on.
      for (let page = 0; page < PATIENCE; page += 1) {
        const query: JobFilter & { limit: number } = {
          ...filter,
          cursor: cursor ?? undefined,
          limit: PAGE - items.length,
        };
        const answer: JobPage = await done(api.GET("/jobs", { params: { query: query as never }, signal }));
        items.push(...answer.items);
        cursor = answer.next_cursor;
        if (!cursor || items.length >= PAGE) break;
      }
      return { items, next: cursor ?? undefined };
    },
    placeholderData: (before) => before,
    refetchInterval: LIVE_MS,
  });

export const job = (id: string) =>
  queryOptions({
    queryKey: ["job", id],
    queryFn: () => done(api.GET("/jobs/{id}", { params: { path: { id } } })),
    refetchInterval: LIVE_MS,
  });

export const jobName = (id: string) =>
  queryOptions({
    queryKey: ["job-name", id],
    queryFn: async () => (await done(api.GET("/jobs/{id}", { params: { path: { id } } }))).name,
    staleTime: 60_000,
    retry: false,
  });

export const executions = (id: string, cursor?: string, limit = 100) =>
  queryOptions({
    queryKey: ["executions", id, cursor, limit],
    queryFn: () =>
      done(api.GET("/jobs/{id}/executions", { params: { path: { id }, query: { limit, cursor } } })),
    placeholderData: (before) => before,
    refetchInterval: LIVE_MS,
  });

export const execution = (id: string) =>
  queryOptions({
    queryKey: ["execution", id],
    queryFn: () => done(api.GET("/executions/{id}", { params: { path: { id } } })),
    refetchInterval: LIVE_MS,
  });

export const preview = (schedule: Schedule, jitter?: number, quiet?: string) =>
  queryOptions({
    queryKey: ["preview", schedule, jitter, quiet],
    queryFn: ({ signal }) =>
      done(
        api.POST("/schedules/preview", {
          body: { schedule, count: 10, jitter_seconds: jitter, quiet_hours_policy_id: quiet },
          signal,
        }),
      ),
    retry: false,
    staleTime: 10_000,
    placeholderData: (before) => before,
  });

export const deadLetters = (cursor?: string) =>
  queryOptions({
    queryKey: ["dead-letters", cursor],
    queryFn: () => done(api.GET("/dead-letters", { params: { query: { limit: 200, cursor } } })),
    refetchInterval: LIVE_MS,
  });

export const quietHours = queryOptions({
  queryKey: ["quiet-hours"],
  queryFn: () => done(api.GET("/quiet-hours", { params: { query: { limit: 1000 } } })),
});

export const figures = queryOptions({
  queryKey: ["figures"],
  queryFn: () => done(api.GET("/monitoring/jobs")),
  refetchInterval: LIVE_MS,
});

export const workers = queryOptions({
  queryKey: ["workers"],
  queryFn: async () => (await done(api.GET("/monitoring/workers"))).items,
  refetchInterval: LIVE_MS,
});

export const users = queryOptions({
  queryKey: ["users"],
  queryFn: () => done(api.GET("/users", { params: { query: { limit: 1000 } } })),
});

export const keys = queryOptions({
  queryKey: ["keys"],
  queryFn: () => done(api.GET("/api-keys")),
});
