/** What is told about each job in the table of jobs. */
import { Link, useNavigate } from "@tanstack/react-router";
import { createColumnHelper, type RowData, type TableMeta } from "@tanstack/react-table";
import {
  ArrowUp,
  ArrowUpDown,
  CircleCheck,
  CircleX,
  Ellipsis,
  Pause,
  Pencil,
  Play,
  Power,
  RotateCw,
  Trash2,
} from "lucide-react";
import type { Job, RecentRun } from "@/api/client";
import { ACTS, type Act } from "@/api/verbs";
import { brief, here, span } from "@/lib/time";
import { aim, described, statusOf, toneOf, written, zoneOf } from "@/lib/words";
import type { May } from "@/parts/may";
import { Moment } from "@/parts/moment";
import { Button } from "@/ui/button";
import { Divider, Item, Menu } from "@/ui/menu";
import { Sparkline } from "@/ui/sparkline";
import { Status, Tag } from "@/ui/status";

declare module "@tanstack/react-table" {
  interface TableMeta<TData extends RowData> {
    act: (act: Act, jobs: TData[]) => void;
    actAtOnce: (act: Act, job: TData) => void;
    may: May;
    /** How the newest runs of each went, as far as that is known. */
    recent: Map<string, RecentRun[]>;
    /** What jobs are in the order of. */
    sort: string | undefined;
    onSort: (sort: string | undefined) => void;
  }
  interface ColumnMeta<TData extends RowData, TValue> {
    className?: string;
  }
}

const column = createColumnHelper<Job>();
const WIDE = "hidden md:table-cell";
const WIDER = "hidden 2xl:table-cell";

export const columns = [
  column.display({
    id: "choose",
    header: ({ table }) => (
      <input
        type="checkbox"
        aria-label="Select all on this page"
        className="size-3.5 align-middle accent-(--ink)"
        checked={table.getIsAllRowsSelected()}
        onChange={table.getToggleAllRowsSelectedHandler()}
      />
    ),
    cell: ({ row }) => (
      <input
        type="checkbox"
        aria-label={`Select ${row.original.name}`}
        className="size-3.5 align-middle accent-(--ink)"
        checked={row.getIsSelected()}
        onChange={row.getToggleSelectedHandler()}
      />
    ),
    meta: { className: "w-9 pr-0" },
  }),
  column.accessor("name", {
    header: "Job",
    cell: ({ row: { original: job } }) => (
      <div className="min-w-0">
        <div className="flex flex-wrap items-center gap-x-2 gap-y-0.5">
          <Link
            to="/jobs/$id"
            params={{ id: job.id }}
            className="wrap-anywhere font-medium underline-offset-2 hover:underline"
          >
            {job.name}
          </Link>
          {job.tags.map((tag) => (
            <Tag key={tag}>{tag}</Tag>
          ))}
        </div>
        <div className="max-w-[45vw] truncate font-mono text-2xs text-faint md:max-w-72 2xl:max-w-[28rem]">
          {aim(job.target)}
        </div>
        <div className="text-soft text-xs sm:hidden">
          {job.next_execution_time && <Moment coming at={job.next_execution_time} />}
        </div>
      </div>
    ),
    meta: { className: "min-w-40" },
  }),
  column.display({
    id: "status",
    header: "Status",
    cell: ({ row }) => <Status status={statusOf(row.original)} />,
  }),
  column.accessor("description", {
    header: "Schedule",
    cell: ({ row: { original: job } }) => (
      <div className="max-w-64">
        <div className="text-soft">{described(job)}</div>
        {job.schedule.type === "cron" && (
          <div className="font-mono text-2xs text-faint">{written(job.schedule)}</div>
        )}
      </div>
    ),
    meta: { className: WIDE },
  }),
  column.accessor("next_execution_time", {
    header: ({ table }) => <Soonest meta={table.options.meta} />,
    cell: ({ row: { original: job } }) => <NextRun job={job} />,
    meta: { className: "hidden sm:table-cell" },
  }),
  column.accessor("last_run_at", {
    header: "Last run",
    cell: ({ row: { original: job } }) => <LastRun job={job} />,
    meta: { className: WIDE },
  }),
  column.accessor((job) => job.counts, {
    id: "counts",
    header: "Runs",
    cell: ({ getValue }) => {
      const { succeeded, failed } = getValue();
      return (
        <span className="tabular whitespace-nowrap text-soft">
          {succeeded}
          {failed > 0 && <span className="text-bad"> · {failed} failed</span>}
        </span>
      );
    },
    meta: { className: WIDER },
  }),
  column.display({
    id: "durations",
    header: "Durations",
    cell: ({ row: { original: job }, table }) => <Sparkline runs={table.options.meta?.recent.get(job.id)} />,
    meta: { className: "hidden lg:table-cell" },
  }),
  column.display({
    id: "acts",
    header: () => <span className="sr-only">Actions</span>,
    cell: ({ row: { original: job }, table }) => <Acts job={job} meta={table.options.meta} />,
    meta: { className: "w-10 py-1" },
  }),
];

/** The head of a column that puts jobs in its order. */
function Soonest({ meta }: { meta: TableMeta<Job> | undefined }) {
  const on = meta?.sort === "next_run";
  const Icon = on ? ArrowUp : ArrowUpDown;
  return (
    <button
      type="button"
      aria-pressed={on}
      title={on ? "In the order of their making" : "The soonest first"}
      onClick={() => meta?.onSort(on ? undefined : "next_run")}
      className="inline-flex items-center gap-1 rounded hover:text-ink aria-pressed:text-ink"
    >
      Next run <Icon className="size-3" aria-hidden />
    </button>
  );
}

/** When it runs next: how far away, and exactly when, on both clocks. */
function NextRun({ job }: { job: Job }) {
  const at = job.next_execution_time;
  const zone = zoneOf(job.schedule);
  if (!at) return <span className="text-faint">–</span>;
  return (
    <div className="whitespace-nowrap">
      <Moment coming at={at} zone={zone} />
      <div className="tabular text-2xs text-faint">{brief(at)}</div>
      {zone && zone !== here && (
        <div className="tabular text-2xs text-faint">
          {brief(at, zone)} {zone.split("/").at(-1)?.replaceAll("_", " ")}
        </div>
      )}
    </div>
  );
}

function LastRun({ job }: { job: Job }) {
  if (!job.last_run_at) return <span className="text-faint">never</span>;
  const failed = job.counts.failed_in_a_row > 0 || toneOf(job.status) === "bad";
  return (
    <div>
      <span className="inline-flex items-center gap-1.5">
        {failed ? (
          <CircleX className="size-3.5 shrink-0 text-bad" aria-label="Failed" />
        ) : (
          <CircleCheck className="size-3.5 shrink-0 text-good" aria-label="Succeeded" />
        )}
        <Moment at={job.last_run_at} zone={zoneOf(job.schedule)} />
      </span>
      {failed && job.last_error ? (
        <div className="max-w-36 truncate text-2xs text-bad 2xl:max-w-64" title={job.last_error}>
          {job.last_error}
        </div>
      ) : (
        job.last_duration_ms != null && (
          <div className="tabular text-2xs text-faint">took {span(job.last_duration_ms)}</div>
        )
      )}
    </div>
  );
}

interface ActsProps {
  job: Job;
  meta: TableMeta<Job> | undefined;
}

function Acts({ job, meta }: ActsProps) {
  const navigate = useNavigate();
  if (!meta?.may.write) return null;
  const { act, actAtOnce } = meta;
  return (
    <Menu
      trigger={
        <Button kind="quiet" size="icon" aria-label={`Actions for ${job.name}`}>
          <Ellipsis />
        </Button>
      }
    >
      <Item onSelect={() => actAtOnce(ACTS.run, job)}>
        <Play /> Run now
      </Item>
      {job.paused ? (
        <Item onSelect={() => actAtOnce(ACTS.resume, job)}>
          <RotateCw /> Resume
        </Item>
      ) : (
        <Item disabled={!job.enabled} onSelect={() => act(ACTS.pause, [job])}>
          <Pause /> Pause…
        </Item>
      )}
      <Item onSelect={() => navigate({ to: "/jobs/$id/edit", params: { id: job.id } })}>
        <Pencil /> Edit
      </Item>
      <Divider />
      {ACTS.switchOn.isFor(job) ? (
        <Item onSelect={() => actAtOnce(ACTS.switchOn, job)}>
          <Power /> Switch on
        </Item>
      ) : (
        <Item disabled={!ACTS.switchOff.isFor(job)} onSelect={() => act(ACTS.switchOff, [job])}>
          <Power /> Switch off…
        </Item>
      )}
      <Item danger onSelect={() => act(ACTS.purge, [job])}>
        <Trash2 /> Delete…
      </Item>
    </Menu>
  );
}
