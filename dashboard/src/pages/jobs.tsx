/** The jobs: a page of them at a time, as the filter in the address says. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { getCoreRowModel, type RowSelectionState, useReactTable } from "@tanstack/react-table";
import { ChevronLeft, ChevronRight, Plus } from "lucide-react";
import { useState } from "react";
import type { Job } from "@/api/client";
import { type JobFilter, jobs as query, recent } from "@/api/queries";
import { ACTS } from "@/api/verbs";
import { useActs } from "@/parts/act-on";
import { useMay } from "@/parts/may";
import { Button } from "@/ui/button";
import { PageHead, Panel } from "@/ui/panel";
import { Empty, Failed, Loading } from "@/ui/states";
import { columns } from "./jobs/columns";
import { Filters } from "./jobs/filters";
import { JobTable } from "./jobs/table";

const route = getRouteApi("/jobs");
const NONE: Job[] = [];
const NO_RUNS = new Map();

export function Jobs() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const may = useMay();
  const asked = useQuery(query(filter));
  const [chosen, setChosen] = useState<RowSelectionState>({});
  /** Where the pages before this one begin. */
  const [trail, setTrail] = useState<(string | undefined)[]>([]);
  const acts = useActs(() => setChosen({}));
  const rows = asked.data?.items ?? NONE;
  const runs = useQuery(recent(rows.map((job) => job.id)));

  const table = useReactTable({
    data: rows,
    columns,
    getCoreRowModel: getCoreRowModel(),
    getRowId: (job) => job.id,
    state: { rowSelection: chosen },
    onRowSelectionChange: setChosen,
    enableRowSelection: may.write,
    manualPagination: true,
    meta: {
      act: acts.act,
      actAtOnce: acts.actAtOnce,
      may,
      recent: runs.data ?? NO_RUNS,
      sort: filter.sort,
      onSort: (sort) => change({ ...filter, sort }),
    },
  });

  const change = (next: JobFilter) => {
    setTrail([]);
    setChosen({});
    navigate({ search: { ...next, cursor: undefined }, replace: true });
  };
  const turnTo = (cursor: string | undefined, before: (string | undefined)[]) => {
    setTrail(before);
    setChosen({});
    navigate({ search: { ...filter, cursor } });
  };
  const next = asked.data?.next;
  const filtered = Object.keys(filter).some(
    (key) => key !== "cursor" && key !== "sort" && filter[key as keyof JobFilter] !== undefined,
  );
  const selected = table.getSelectedRowModel().rows.map((row) => row.original);

  return (
    <>
      <PageHead title="Jobs">
        {may.write && (
          <Button kind="primary" asChild>
            <Link to="/jobs/new">
              <Plus /> New job
            </Link>
          </Button>
        )}
      </PageHead>
      <Filters filter={filter} onChange={change} />
      <Panel>
        {selected.length > 0 && (
          <div className="flex flex-wrap items-center gap-2 border-b bg-accent-tint px-4 py-2 text-sm">
            <span className="mr-2 font-medium">{selected.length} selected</span>
            {[ACTS.run, ACTS.pause, ACTS.resume, ACTS.switchOff, ACTS.purge].map((act) => (
              <Button
                key={act.name}
                size="small"
                disabled={!selected.some(act.isFor)}
                onClick={() => acts.act(act, selected)}
              >
                {act.name}
              </Button>
            ))}
            <Button size="small" kind="quiet" onClick={() => setChosen({})}>
              Clear
            </Button>
          </div>
        )}
        {asked.isPending && <Loading rows={10} />}
        {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
        {asked.data && rows.length === 0 && !next && (
          <Empty
            title={filtered ? "No job is like that" : "No jobs yet"}
            act={
              filtered ? (
                <Button onClick={() => change({})}>Show all jobs</Button>
              ) : (
                may.write && (
                  <Button kind="primary" asChild>
                    <Link to="/jobs/new">
                      <Plus /> New job
                    </Link>
                  </Button>
                )
              )
            }
          >
            {filtered
              ? "Loosen the filter to see more."
              : "A job is a schedule and what to do: call an endpoint, or say something to whoever follows."}
          </Empty>
        )}
        {rows.length > 0 && <JobTable table={table} />}
        {(filter.cursor || next) && (
          <div className="flex items-center justify-between gap-2 border-t px-4 py-2">
            <span className="tabular text-faint text-xs">
              {trail.length > 0 || !filter.cursor ? `Page ${trail.length + 1}` : "Further on"}
            </span>
            <div className="flex gap-2">
              {filter.cursor && trail.length === 0 && (
                <Button size="small" onClick={() => turnTo(undefined, [])}>
                  First page
                </Button>
              )}
              <Button
                size="small"
                disabled={trail.length === 0}
                onClick={() => turnTo(trail.at(-1), trail.slice(0, -1))}
              >
                <ChevronLeft /> Previous
              </Button>
              <Button size="small" disabled={!next} onClick={() => turnTo(next, [...trail, filter.cursor])}>
                Next <ChevronRight />
              </Button>
            </div>
          </div>
        )}
      </Panel>
      {acts.dialog}
    </>
  );
}
