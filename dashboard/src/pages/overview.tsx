/** How the whole does: what there is, what runs, what went wrong, and who does the work. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import type { ReactNode } from "react";
import type { JobFigures } from "@/api/client";
import { deadLetters, type JobFilter, figures as query, workers } from "@/api/queries";
import { type Sample, useSamples } from "@/lib/samples";
import { span } from "@/lib/time";
import { number } from "@/lib/words";
import { Moment } from "@/parts/moment";
import { PageHead, Panel } from "@/ui/panel";
import { Failed, Loading } from "@/ui/states";
import { Herd } from "./overview/herd";
import { ComingUp, Troubles } from "./overview/lists";
import { Trends } from "./overview/trends";
import { WorkerTable } from "./workers";

/** More overdue jobs are not counted. */
const OVERDUE = 1000;

export function Overview() {
  const asked = useQuery(query);
  const samples = useSamples(asked.data, asked.dataUpdatedAt);
  const crew = useQuery(workers);
  if (asked.isPending) return <Loading />;
  if (!asked.data) return <Failed error={asked.error} retry={() => asked.refetch()} />;
  const figures = asked.data;
  return (
    <>
      <PageHead
        title="Overview"
        lead={
          <>
            Counted since <Moment at={figures.since} both />
          </>
        }
      />
      <Counters figures={figures} crew={crew.data?.length} />
      <div className="grid gap-5 xl:grid-cols-3">
        <Herd />
        <Trends samples={samples} below={<Ends figures={figures} />} />
        <Activity figures={figures} samples={samples} />
        <ComingUp />
        <Troubles />
        <Panel title="Workers" className="xl:col-span-3">
          {crew.data ? <WorkerTable workers={crew.data} /> : <Loading rows={2} />}
        </Panel>
      </div>
    </>
  );
}

function Counters({ figures, crew }: { figures: JobFigures; crew: number | undefined }) {
  const dead = useQuery(deadLetters());
  const letters = dead.data && `${dead.data.items.length}${dead.data.next_cursor ? "+" : ""}`;
  const { jobs, overdue } = figures;
  return (
    <ul className="mb-5 grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line sm:grid-cols-4 xl:grid-cols-8">
      <Counter name="Jobs" value={jobs.total} filter={{}} />
      <Counter name="Running" value={jobs.running} filter={{ status: "RUNNING" }} tone="text-busy" />
      <Counter
        name="Retrying"
        value={jobs.retry_pending}
        filter={{ status: "RETRY_PENDING" }}
        tone="text-warn"
      />
      <Counter name="Failed" value={jobs.failed} filter={{ status: "FAILED" }} tone="text-bad" />
      <Counter name="Paused" value={jobs.paused} filter={{ status: "paused" }} tone="text-warn" />
      <Counter name="Dead letters" value={letters} to="/dead-letters" tone="text-bad" />
      <Counter
        name="Overdue"
        value={overdue >= OVERDUE ? `${OVERDUE}+` : overdue}
        filter={{
          next_run_before: new Date(Math.floor(Date.now() / 10_000) * 10_000 - 10_000).toISOString(),
        }}
        tone="text-bad"
      />
      <Counter name="Workers" value={crew} to="/workers" />
    </ul>
  );
}

interface CounterProps {
  name: string;
  value: number | string | undefined;
  filter?: JobFilter;
  to?: string;
  /** The colour of a number that is not zero. */
  tone?: string;
}

function Counter({ name, value, filter, to, tone }: CounterProps) {
  const some = value !== undefined && value !== 0 && value !== "0";
  const content = (
    <>
      <span className="block text-faint text-xs">{name}</span>
      <span className={`tabular mt-0.5 block font-semibold text-xl ${some && tone ? tone : ""}`}>
        {typeof value === "number" ? number.format(value) : (value ?? "–")}
      </span>
    </>
  );
  const look = "block h-full bg-surface px-4 py-3";
  const target = to ?? (filter ? "/jobs" : undefined);
  return (
    <li>
      {target ? (
        <Link to={target} search={filter ?? {}} className={`${look} -outline-offset-2 hover:bg-hover`}>
          {content}
        </Link>
      ) : (
        <div className={look}>{content}</div>
      )}
    </li>
  );
}

function Ends({ figures: { executions } }: { figures: JobFigures }) {
  const parts: [string, number, string][] = [
    ["succeeded", executions.success, "bg-good"],
    ["failed", executions.failed, "bg-bad-fill"],
    ["timed out", executions.timed_out, "bg-bad-fill"],
    ["skipped", executions.skipped, "bg-warn"],
    ["cancelled", executions.cancelled, "bg-edge"],
  ];
  const some = parts.filter(([, count]) => count > 0);
  return (
    <div className="border-t px-4 py-3">
      <div className="flex flex-wrap gap-x-5 gap-y-1 text-sm">
        {some.length === 0 && <span className="text-faint">Nothing has ended yet.</span>}
        {some.map(([name, count, tone]) => (
          <span key={name} className="tabular inline-flex items-center gap-1.5">
            <span aria-hidden className={`size-2 rounded-full ${tone}`} />
            {number.format(count)} <span className="text-soft">{name}</span>
          </span>
        ))}
      </div>
    </div>
  );
}

function Activity({ figures, samples }: { figures: JobFigures; samples: Sample[] }) {
  const ms = (value: number | null | undefined) => (value == null ? "–" : span(value));
  const { start_lag, scheduler_scan, throughput } = figures;
  const now = lately(samples);
  return (
    <Panel title="Scheduler">
      <dl className="divide-y text-sm">
        <Line name="Runs a second">
          {now === undefined ? "–" : now.toFixed(2)}{" "}
          <Aside>{throughput.runs_per_second.toFixed(2)} since the start</Aside>
        </Line>
        <Line name="Runs begin late by">
          {ms(start_lag.p50_ms)} <Aside>99 % within {ms(start_lag.p99_ms)}</Aside>
        </Line>
        <Line name="Looking for what is due">
          {ms(scheduler_scan.p50_ms)} <Aside>99 % within {ms(scheduler_scan.p99_ms)}</Aside>
        </Line>
        <Line name="A run takes">
          {ms(figures.avg_duration_ms)} <Aside>on average</Aside>
        </Line>
        <Line name="Clock ahead by">
          {figures.clock_skew_ms == null ? (
            <Aside>the only clock there is</Aside>
          ) : (
            `${figures.clock_skew_ms.toFixed(1)} ms`
          )}
        </Line>
        <Line name="Retries, lost with a worker">
          {number.format(figures.retries)}, {number.format(figures.stuck)}
        </Line>
        <Line name="Queued">{number.format(figures.executions.queued)}</Line>
        <Line name="Store">{(figures.store_bytes / 1_048_576).toFixed(1)} MiB</Line>
      </dl>
    </Panel>
  );
}

/** Runs that ended each second, of the last half minute that was looked at. */
function lately(samples: Sample[]): number | undefined {
  const last = samples.at(-1);
  const recent = samples.filter((sample) => last && last.at - sample.at < 30_000);
  const first = recent[0];
  if (!first || !last || last.at <= first.at) return undefined;
  const ended = recent.slice(1).reduce((sum, it) => sum + it.succeeded + it.failed, 0);
  return (1000 * ended) / (last.at - first.at);
}

function Line({ name, children }: { name: string; children: ReactNode }) {
  return (
    <div className="flex items-baseline justify-between gap-4 px-4 py-2">
      <dt className="text-soft">{name}</dt>
      <dd className="tabular whitespace-nowrap font-medium">{children}</dd>
    </div>
  );
}

function Aside({ children }: { children: ReactNode }) {
  return <span className="font-normal text-faint text-xs">{children}</span>;
}
