/** What an edit changes about the runs of the coming week, before it is saved. */
import { useQuery } from "@tanstack/react-query";
import { useEffect, useState } from "react";
import { api, done, type Job } from "@/api/client";
import type { Json } from "@/lib/merge-patch";
import { brief } from "@/lib/time";
import { zoneOf } from "@/lib/words";
import { Panel } from "@/ui/panel";

const STILL_MS = 300;
/** Runs that are shown one by one. */
const SHOWN = 4;

export function Effect({ job, patch }: { job: Job; patch: Json }) {
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
    placeholderData: (before) => before,
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
        <ul className="flex flex-wrap gap-1.5">
          {Object.keys(patch).map((field) => (
            <li key={field} className="rounded bg-sunken px-1.5 font-mono text-2xs text-soft">
              {field}
            </li>
          ))}
        </ul>
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
