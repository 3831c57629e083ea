/** The history: what happened in the hours, days, weeks, months and years that are over. */
import { queryOptions } from "@tanstack/react-query";
import { here } from "@/lib/time";
import { api, done } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type TocNode = Schemas["TocNode"];
export type TocHeadline = Schemas["TocHeadline"];
export type HistoryFigures = Schemas["HistoryFigures"];

export type Level = "hour" | "day" | "week" | "month" | "year";

/** The past changes little: what is new is added by and by. */
const GOOD_MS = 60_000;

export const tocNode = (node: string) =>
  queryOptions({
    queryKey: ["toc", node],
    queryFn: () => done(api.GET("/history/toc/{node}", { params: { path: { node }, query: { tz: here } } })),
    staleTime: GOOD_MS,
    placeholderData: (before) => before,
    retry: false,
  });

/** Periods of a level, in order; from so long ago. */
export const tocList = (level: Level, sinceMs?: number) =>
  queryOptions({
    queryKey: ["toc-list", level, sinceMs],
    queryFn: async () => {
      const from = sinceMs === undefined ? undefined : new Date(Date.now() - sinceMs).toISOString();
      const { items } = await done(api.GET("/history/toc", { params: { query: { level, from, tz: here } } }));
      return items;
    },
    staleTime: GOOD_MS,
    retry: false,
  });

export const historyStanding = queryOptions({
  queryKey: ["history-standing"],
  queryFn: () => done(api.GET("/history")),
  staleTime: 10_000,
  retry: false,
});

export const jobHistory = (id: string) =>
  queryOptions({
    queryKey: ["job-history", id],
    queryFn: () => done(api.GET("/history/jobs/{id}", { params: { path: { id }, query: { tz: here } } })),
    staleTime: GOOD_MS,
    retry: false,
  });
