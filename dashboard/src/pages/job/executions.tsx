/** What became of every slot of a job; attempts at one slot stand together. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import type { Execution, Job } from "@/api/client";
import { executions as query } from "@/api/queries";
import { brief, span, useNow } from "@/lib/time";
import { why, zoneOf } from "@/lib/words";
import { Button } from "@/ui/button";
import { Panel, Table, Td, Th, Tr } from "@/ui/panel";
import { Empty, Failed, Loading } from "@/ui/states";
import { Badge, Status } from "@/ui/status";

const TRIGGERS: Record<string, string> = {
  manual: "by hand",
  catch_up: "caught up",
  backfill: "backfill",
  notice: "notice",
};

export function Executions({ job }: { job: Job }) {
  const [trail, setTrail] = useState<string[]>([]);
  const asked = useQuery(query(job.id, trail.at(-1)));
  const rows = asked.data?.items ?? [];
  const next = asked.data?.next_cursor;
  return (
    <Panel title="Executions" aside="newest first, with skipped slots and why">
      {asked.isPending && <Loading />}
      {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
      {asked.data && rows.length === 0 && (
        <Empty title="Nothing has run yet">
          {job.next_execution_time
            ? "The first slot is still to come. Run it now to see what it does."
            : "The job has no slot to come."}
        </Empty>
      )}
      {rows.length > 0 && (
        <Table label="Executions">
          <thead>
            <tr>
              <Th>Slot</Th>
              <Th>Status</Th>
              <Th className="hidden sm:table-cell">Attempt</Th>
              <Th className="hidden sm:table-cell">Took</Th>
              <Th className="hidden md:table-cell">Answer</Th>
              <Th>Why</Th>
            </tr>
          </thead>
          <tbody>
            {rows.map((row, place) => (
              <Row
                key={row.id}
                row={row}
                again={isSameSlot(rows[place - 1], row)}
                zone={zoneOf(job.schedule)}
              />
            ))}
          </tbody>
        </Table>
      )}
      {(trail.length > 0 || next) && (
        <div className="flex justify-end gap-2 border-t px-4 py-2">
          <Button size="small" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
            Newer
          </Button>
          <Button size="small" disabled={!next} onClick={() => next && setTrail([...trail, next])}>
            Older
          </Button>
        </div>
      )}
    </Panel>
  );
}

function isSameSlot(before: Execution | undefined, row: Execution) {
  const same = before?.scheduled_for === row.scheduled_for && before.trigger === row.trigger;
  return same && row.trigger !== "notice";
}

interface RowProps {
  row: Execution;
  /** Whether the row above is about the same slot. */
  again: boolean;
  zone: string | undefined;
}

function Row({ row, again, zone }: RowProps) {
  const trigger = TRIGGERS[row.trigger];
  return (
    <Tr>
      <Td className="tabular whitespace-nowrap">
        <Link
          to="/executions/$id"
          params={{ id: row.id }}
          title={zone ? `${brief(row.scheduled_for, zone)} ${zone}` : undefined}
          className={again ? "pl-3 text-faint hover:underline" : "underline-offset-2 hover:underline"}
        >
          {again ? `└ attempt ${row.attempt}` : brief(row.scheduled_for)}
        </Link>
        {trigger && !again && (
          <span className="ml-2">
            <Badge>{trigger}</Badge>
          </span>
        )}
      </Td>
      <Td>
        <Status status={row.status} />
      </Td>
      <Td className="tabular hidden sm:table-cell">{row.status === "SKIPPED" ? "–" : row.attempt}</Td>
      <Td className="tabular hidden whitespace-nowrap sm:table-cell">
        <Took row={row} />
      </Td>
      <Td className="tabular hidden md:table-cell">{row.response_code ?? "–"}</Td>
      <Td className="wrap-anywhere min-w-40 max-w-96 text-soft">
        <span className="line-clamp-2">{why(row)}</span>
      </Td>
    </Tr>
  );
}

export function Took({ row }: { row: Execution }) {
  const now = useNow();
  if (row.duration_ms != null) return span(row.duration_ms);
  if (row.status === "RUNNING" && row.started_at)
    return `${span(Math.max(0, now - Date.parse(row.started_at)))} so far`;
  return "–";
}
