/** What an edit changes about the runs of the coming week, before it is saved. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, done, type Job } from "@/api/client";
import type { Json } from "@/lib/merge-patch";
import { brief } from "@/lib/time";
import { zoneOf } from "@/lib/words";
import { Panel } from "@/ui/panel";

interface Changed {
  field: string;
  was: string | undefined;
  is: string | undefined;
}

/** Each field that differs, with both of its values. */
function changes(before: Json, after: Json, prefix = ""): Changed[] {
  const told: Changed[] = [];
  for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
    const [was, is] = [before[key], after[key]];
    const field = prefix + key;
    if (JSON.stringify(was) === JSON.stringify(is)) continue;
    if (isFields(was) && isFields(is)) told.push(...changes(was, is, `${field}.`));
    else told.push({ field, was: text(was), is: text(is) });
  }
  return told;
}

function isFields(value: unknown): value is Json {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

function text(value: unknown): string | undefined {
  if (value === undefined || value === null || value === "") return undefined;
  return typeof value === "string" ? value : JSON.stringify(value);
}

const STILL_MS = 300;
/** Runs that are shown one by one. */
const SHOWN = 4;

interface Props {
  job: Job;
  patch: Json;
  before: Json;
  after: Json;
}

export function Effect({ job, patch, before, after }: Props) {
  const text = JSON.stringify(patch);
  const [still, setStill] = useState(text);
  useEffect(() => {
    const timer = setTimeout(() => setStill(text), STILL_MS);
    return () => clearTimeout(timer);
  }, [text]);
  const asked = useQuery({
    queryKey: ["effect", job.id, still],
    queryFn: () =>
      done(
        api.POST("/jobs/{id}/preview", {
          params: { path: { id: job.id } },
          body: JSON.parse(still) as never,
        }),
      ),
    retry: false,
    placeholderData: (last) => last,
  });
  const zone = zoneOf(job.schedule);
  const list = (sign: string, runs: { nominal: string }[], tone: string) =>
    runs.slice(0, SHOWN).map((run) => (
      <li key={sign + run.nominal} className={`tabular ${tone}`}>
        {sign} {brief(run.nominal, zone)}
      </li>
    ));
  return (
    <Panel title="What this changes">
      <div className="space-y-3 p-4 text-sm">
        <dl className="space-y-2">
          {changes(before, after).map(({ field, was, is }) => (
            <div key={field} className="min-w-0">
              <dt className="font-mono text-2xs text-faint">{field}</dt>
              <dd className="wrap-anywhere font-mono text-xs">
                {was !== undefined && <del className="text-bad decoration-bad/50">{was}</del>}
                {was !== undefined && is !== undefined && " "}
                {is !== undefined && <ins className="text-good no-underline">{is}</ins>}
              </dd>
            </div>
          ))}
        </dl>
        {asked.data && (
          <>
            <p data-testid="effect">{asked.data.summary}</p>
            <ul className="space-y-0.5 text-xs">
              {list("−", asked.data.removed, "text-bad")}
              {list("+", asked.data.added, "text-good")}
            </ul>
          </>
        )}
      </div>
    </Panel>
  );
}
