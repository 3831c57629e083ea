/** Past slots that run after all: asked for, tried out, and watched until they are through. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { CalendarSync } from "lucide-react";
import { useState } from "react";
import {
  type Backfill,
  backfills,
  cancelBackfill,
  isOver,
  pauseBackfill,
  resumeBackfill,
} from "@/api/backfills";
import type { Job } from "@/api/client";
import { brief } from "@/lib/time";
import { number, type Tone, zoneOf } from "@/lib/words";
import { useMay } from "@/parts/may";
import { Button } from "@/ui/button";
import { Panel } from "@/ui/panel";
import { Badge } from "@/ui/status";
import { doing } from "@/ui/toast";
import { BackfillDialog } from "./backfill-dialog";

export function Backfills({ job }: { job: Job }) {
  const may = useMay();
  const [asking, setAsking] = useState(false);
  const { data } = useQuery({ ...backfills(job.id), retry: false });
  const items = data?.items ?? [];
  // A single slot has no past to go through again.
  if (job.schedule.type === "one_shot" || (items.length === 0 && !may.write)) return null;
  return (
    <Panel
      title="Backfills"
      aside={
        may.write && (
          <Button size="small" onClick={() => setAsking(true)}>
            <CalendarSync /> Run past slots…
          </Button>
        )
      }
    >
      {items.length === 0 && (
        <p className="p-4 text-faint text-sm">Slots of the past can run after all, one after the other.</p>
      )}
      <ul className="divide-y">
        {items.map((it) => (
          <Row key={it.id} it={it} job={job} mayWrite={may.write} />
        ))}
      </ul>
      {asking && <BackfillDialog job={job} onClose={() => setAsking(false)} />}
    </Panel>
  );
}

const TONES: Record<string, Tone> = { running: "busy", paused: "warn", finished: "good" };
const WAITS: Record<string, string> = {
  rate: "keeps to its pace",
  quiet_hours: "waits for the end of quiet hours",
  job_paused: "the job is paused",
  own_runs: "waits for its own runs",
  job_busy: "waits for the job's other runs",
};

function Row({ it, job, mayWrite }: { it: Backfill; job: Job; mayWrite: boolean }) {
  const client = useQueryClient();
  const zone = zoneOf(job.schedule);
  const act = async (work: Promise<unknown>, said: string) => {
    await doing(work, said);
    await client.invalidateQueries({ queryKey: ["backfills", job.id] });
  };
  const share = it.total === 0 ? 1 : it.done / it.total;
  const counts: [string, number][] = [
    ["succeeded", it.succeeded],
    ["failed", it.failed],
    ["cancelled", it.cancelled],
    ["skipped", it.skipped],
    ["had run", it.already_run],
    ["under way", it.under_way],
  ];
  return (
    <li className="space-y-2 px-4 py-3 text-sm">
      <div className="flex flex-wrap items-center justify-between gap-2">
        <span className="tabular text-soft">
          {brief(it.from, zone)} – {brief(it.to, zone)}
        </span>
        <Badge tone={TONES[it.state] ?? "plain"}>{it.state}</Badge>
      </div>
      <div className="flex items-center gap-3">
        <div
          role="progressbar"
          aria-label={`Backfill ${it.number}`}
          aria-valuemin={0}
          aria-valuemax={it.total}
          aria-valuenow={it.done}
          className="h-2 grow overflow-hidden rounded-full bg-line"
        >
          <div
            className={`h-full ${it.failed > 0 ? "bg-warn" : "bg-good"}`}
            style={{ width: `${share * 100}%` }}
          />
        </div>
        <span className="tabular whitespace-nowrap text-soft text-xs">
          {number.format(it.done)} of {number.format(it.total)}
          {it.beyond_cap && "+"}
        </span>
      </div>
      <p className="text-faint text-xs">
        {counts
          .filter(([, count]) => count > 0)
          .map(([name, count]) => `${number.format(count)} ${name}`)
          .join(", ")}
        {it.state === "running" && it.waits_for && `; ${WAITS[it.waits_for] ?? it.waits_for}`}
      </p>
      {it.error && <p className="wrap-anywhere text-bad text-xs">{it.error}</p>}
      {mayWrite && !isOver(it) && it.state !== "cancelled" && (
        <div className="flex gap-2">
          {it.state === "paused" ? (
            <Button size="small" onClick={() => act(resumeBackfill(it.id), "Resumed the backfill")}>
              Resume backfill
            </Button>
          ) : (
            <Button size="small" onClick={() => act(pauseBackfill(it.id), "Paused the backfill")}>
              Pause backfill
            </Button>
          )}
          <Button size="small" onClick={() => act(cancelBackfill(it.id), "Cancelled the backfill")}>
            Cancel backfill
          </Button>
        </div>
      )}
    </li>
  );
}
