/** How runs ended over time, and how long they took: as they come, or by hours and days gone by. */
import { useQuery } from "@tanstack/react-query";
import { lazy, type ReactNode, Suspense, useState } from "react";
import { type Level, type TocHeadline, tocList } from "@/api/history";
import type { Sample } from "@/lib/samples";
import { Choice } from "@/ui/field";
import { Panel } from "@/ui/panel";
import { Loading } from "@/ui/states";
import type { Point } from "./past";

const Outcomes = lazy(() => import("./outcomes"));
const Endings = lazy(async () => ({ default: (await import("./past")).Endings }));
const Lengths = lazy(async () => ({ default: (await import("./past")).Lengths }));

const HOUR_MS = 3_600_000;
const DAY_MS = 24 * HOUR_MS;
type View = "live" | "hours" | "days";

const VIEWS: { value: View; label: string }[] = [
  { value: "live", label: "Live" },
  { value: "hours", label: "48 hours" },
  { value: "days", label: "30 days" },
];

export function Trends({ samples, below }: { samples: Sample[]; below: ReactNode }) {
  const [chosen, setView] = useState<View>();
  const hourly = chosen !== "days";
  const level: Level = hourly ? "hour" : "day";
  const asked = useQuery(tocList(level, hourly ? 47 * HOUR_MS : 29 * DAY_MS));
  // Whoever has chosen nothing sees the past, once there is one.
  const view = chosen ?? (asked.data && asked.data.length > 0 ? "hours" : "live");
  const points = spanned(asked.data ?? [], hourly ? HOUR_MS : DAY_MS, hourly ? 48 : 30);
  const nothing = asked.data?.length === 0;
  return (
    <>
      <Panel
        title="Succeeded and failed"
        aside={<Choice label="Time" value={view} options={VIEWS} onChange={setView} />}
        className="xl:col-span-2"
      >
        <div className="h-52 p-2 pt-4">
          <Suspense fallback={<Loading rows={3} />}>
            {view === "live" ? (
              <Outcomes samples={samples} />
            ) : nothing ? (
              <Soon />
            ) : (
              <Endings points={points} hourly={hourly} />
            )}
          </Suspense>
        </div>
        {below}
      </Panel>
      <Panel title="How long runs take" aside={hourly ? "by the hour" : "by the day"}>
        <div className="h-52 p-2 pt-4">
          <Suspense fallback={<Loading rows={3} />}>
            {nothing ? <Soon /> : <Lengths points={points} hourly={hourly} />}
          </Suspense>
        </div>
        <p className="flex gap-5 border-t px-4 py-3 text-sm">
          <span className="inline-flex items-center gap-1.5">
            <span aria-hidden className="h-0.5 w-4 bg-busy" /> half
          </span>
          <span className="inline-flex items-center gap-1.5">
            <span aria-hidden className="w-4 border-accent border-t-2 border-dashed" /> 95 %
          </span>
          <span className="text-soft">took no longer</span>
        </p>
      </Panel>
    </>
  );
}

function Soon() {
  return (
    <p className="grid h-full place-items-center text-center text-faint text-sm">
      The history begins with the first hour that is told of.
    </p>
  );
}

/** The periods, and those between them in which nothing happened. */
function spanned(items: TocHeadline[], stepMs: number, most: number): Point[] {
  const known = new Map(items.map((item) => [Date.parse(item.start), item]));
  const last = Math.floor(Date.now() / stepMs) * stepMs;
  const first = Math.max(last - (most - 1) * stepMs, Math.min(...known.keys(), last));
  const points: Point[] = [];
  for (let at = first; at <= last; at += stepMs) {
    const item = known.get(at);
    const ends = item?.endings;
    points.push({
      at,
      succeeded: ends?.success ?? 0,
      failed: ends ? ends.failed + ends.timed_out + ends.stuck : 0,
      p50: item?.p50_ms ?? null,
      p95: item?.p95_ms ?? null,
    });
  }
  return points;
}
