/** What pages ask for, and how long an answer is good for. */
import { queryOptions } from "@tanstack/react-query";
import { api, done, type Job, type JobPage, type Schedule } from "./client";

/** Figures, which nothing announces, are asked for anew this often; lists are when they change. */
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
  /** `next_run`; in the order of their making if left out. */
  sort?: string;
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
  });

export const job = (id: string) =>
  queryOptions({
    queryKey: ["job", id],
    queryFn: () => done(api.GET("/jobs/{id}", { params: { path: { id } } })),
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
  });

export const execution = (id: string) =>
  queryOptions({
    queryKey: ["execution", id],
    queryFn: () => done(api.GET("/executions/{id}", { params: { path: { id } } })),
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
  });

/** How the newest runs of the jobs of a page went. */
export const recent = (ids: string[]) =>
  queryOptions({
    queryKey: ["recent", ids],
    queryFn: async () => {
      const { items } = await done(api.GET("/jobs/recent", { params: { query: { ids: ids.join(",") } } }));
      return new Map(items.map((item) => [item.job_id, item.runs]));
    },
    enabled: ids.length > 0,
    placeholderData: (before) => before,
  });

/** What happened to a job at a time, or will, and why. */
export const explain = (id: string, at: string) =>
  queryOptions({
    queryKey: ["explain", id, at],
    queryFn: () => done(api.GET("/jobs/{id}/explain", { params: { path: { id }, query: { at } } })),
    retry: false,
  });

export const herd = queryOptions({
  queryKey: ["herd"],
  queryFn: () => done(api.GET("/monitoring/herd")),
  // Where there are many jobs, it is found by and by.
  refetchInterval: ({ state }) => (state.data?.complete === false ? 4_000 : 15_000),
});

export const subscriptions = queryOptions({
  queryKey: ["subscriptions"],
  queryFn: () => done(api.GET("/subscriptions", { params: { query: { limit: 1000 } } })),
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
});

export const users = queryOptions({
  queryKey: ["users"],
  queryFn: () => done(api.GET("/users", { params: { query: { limit: 1000 } } })),
});

export const keys = queryOptions({
  queryKey: ["keys"],
  queryFn: () => done(api.GET("/api-keys")),
});
