/** Backfills: past slots that run after all. */
import { queryOptions } from "@tanstack/react-query";
import { api, done } from "./client";
import type { components } from "./schema";

type Schemas = components["schemas"];
export type Backfill = Schemas["Backfill"];
export type BackfillPreview = Schemas["BackfillPreview"];
export type NewBackfill = Schemas["NewBackfill"];

/** Backfills of a job that are shown. */
const SHOWN = 10;

export const backfills = (job: string) =>
  queryOptions({
    queryKey: ["backfills", job],
    queryFn: () =>
      done(api.GET("/jobs/{id}/backfills", { params: { path: { id: job }, query: { limit: SHOWN } } })),
  });

const at = (id: string) => ({ params: { path: { id } } });

/** What a backfill would do; nothing is kept. */
export async function tryOut(job: string, body: NewBackfill): Promise<BackfillPreview> {
  const answer = await done(
    api.POST("/jobs/{id}/backfills", { ...at(job), body: { ...body, dry_run: true } }),
  );
  return answer as unknown as BackfillPreview;
}

export async function begin(job: string, body: NewBackfill): Promise<Backfill> {
  return (await done(api.POST("/jobs/{id}/backfills", { ...at(job), body }))) as unknown as Backfill;
}

export const pauseBackfill = (id: string) => done(api.POST("/backfills/{id}/pause", at(id)));
export const resumeBackfill = (id: string) => done(api.POST("/backfills/{id}/resume", at(id)));
export const cancelBackfill = (id: string) => done(api.POST("/backfills/{id}/cancel", at(id)));

export function isOver(it: Backfill): boolean {
  return (it.state === "finished" || it.state === "cancelled") && it.under_way === 0;
}
