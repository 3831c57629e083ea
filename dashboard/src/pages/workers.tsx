/** Who does the work: each worker, how busy it is, and when it was last heard of. */
import { useQuery } from "@tanstack/react-query";
import type { WorkerFigures } from "@/api/client";
import { workers as query } from "@/api/queries";
import { useNow } from "@/lib/time";
import { plural } from "@/lib/words";
import { Moment } from "@/parts/moment";
import { PageHead, Panel, Table, Td, Th, Tr } from "@/ui/panel";
import { Empty, Failed, Loading } from "@/ui/states";
import { Badge, Tag } from "@/ui/status";

/** Whoever was silent for longer may be dead. */
const SILENT_MS = 30_000;

export function Workers() {
  const asked = useQuery(query);
  return (
    <>
      <PageHead title="Workers" lead={asked.data && plural(asked.data.length, "node")} />
      <Panel>
        {asked.isPending && <Loading rows={3} />}
        {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
        {asked.data && <WorkerTable workers={asked.data} />}
      </Panel>
    </>
  );
}

export function WorkerTable({ workers }: { workers: WorkerFigures[] }) {
  if (workers.length === 0) return <Empty title="No worker is known">Runs wait until there is one.</Empty>;
  return (
    <Table label="Workers">
      <thead>
        <tr>
          <Th>Worker</Th>
          <Th>State</Th>
          <Th>Load</Th>
          <Th className="hidden md:table-cell">Roles</Th>
          <Th>Last heard of</Th>
          <Th className="hidden md:table-cell">Up since</Th>
          <Th className="hidden lg:table-cell">Version</Th>
        </tr>
      </thead>
      <tbody>
        {workers.map((worker) => (
          <Row key={worker.worker_id} worker={worker} />
        ))}
      </tbody>
    </Table>
  );
}

function Row({ worker }: { worker: WorkerFigures }) {
  const now = useNow();
  const silent = now - Date.parse(worker.last_seen) > SILENT_MS;
  return (
    <Tr>
      <Td className="wrap-anywhere">
        <div className="font-medium">{worker.host}</div>
        <div className="font-mono text-2xs text-faint">{worker.worker_id}</div>
      </Td>
      <Td>{silent ? <Badge tone="bad">Silent</Badge> : <Badge tone="good">Alive</Badge>}</Td>
      <Td>
        <div className="flex items-center gap-2">
          <div aria-hidden className="h-1.5 w-24 overflow-hidden rounded-full bg-line">
            <div
              className="h-full min-w-0.5 bg-busy"
              style={{ width: `${(100 * worker.running) / worker.capacity}%` }}
            />
          </div>
          <span className="tabular whitespace-nowrap text-soft text-xs">
            {worker.running} of {worker.capacity}
          </span>
        </div>
      </Td>
      <Td className="hidden md:table-cell">
        <span className="flex flex-wrap gap-1">
          {worker.roles.map((role) => (
            <Tag key={role}>{role}</Tag>
          ))}
        </span>
      </Td>
      <Td>
        <Moment at={worker.last_seen} />
      </Td>
      <Td className="hidden md:table-cell">
        <Moment at={worker.started_at} />
      </Td>
      <Td className="tabular hidden lg:table-cell">{worker.version}</Td>
    </Tr>
  );
}
