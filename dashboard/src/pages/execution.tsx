/** An execution: one attempt at one slot, or the record that it was skipped, and why. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import type { Job, Execution as Told } from "@/api/client";
import { executions, job as jobQuery, execution as query } from "@/api/queries";
import { cancelExecution } from "@/api/verbs";
import { absolute, brief, here, span } from "@/lib/time";
import { aim, zoneOf } from "@/lib/words";
import { Code } from "@/parts/code";
import { useMay } from "@/parts/may";
import { Moment } from "@/parts/moment";
import { Why } from "@/parts/why";
import { Button } from "@/ui/button";
import { Fact, Facts, PageHead, Panel } from "@/ui/panel";
import { Failed, Loading } from "@/ui/states";
import { Status } from "@/ui/status";
import { doing } from "@/ui/toast";
import { Took } from "./job/executions";

const route = getRouteApi("/executions/$id");

export function Execution() {
  const { id } = route.useParams();
  const asked = useQuery(query(id));
  const job = useQuery({ ...jobQuery(asked.data?.job_id ?? ""), enabled: Boolean(asked.data), retry: false });
  const may = useMay();
  const client = useQueryClient();
  if (asked.isPending) return <Loading />;
  if (!asked.data) return <Failed error={asked.error} retry={() => asked.refetch()} />;
  const told = asked.data;
  const isLive = told.status === "RUNNING" || told.status === "QUEUED";
  const cancel = async () => {
    await doing(cancelExecution(id), "Asked to stop");
    await client.invalidateQueries();
  };
  return (
    <>
      <p className="mb-1 flex flex-wrap gap-1.5 text-sm text-soft">
        <Link to="/jobs" className="underline-offset-2 hover:text-ink hover:underline">
          Jobs
        </Link>
        <span aria-hidden>/</span>
        {job.data ? (
          <Link
            to="/jobs/$id"
            params={{ id: told.job_id }}
            className="wrap-anywhere underline-offset-2 hover:text-ink hover:underline"
          >
            {job.data.name}
          </Link>
        ) : (
          "a job that is gone"
        )}
      </p>
      <PageHead
        name={`${brief(told.scheduled_for)} ${job.data?.name ?? ""}`}
        title={
          <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
            {brief(told.scheduled_for)} <Status status={told.status} />
          </span>
        }
        lead={job.data && <code className="wrap-anywhere font-mono text-xs">{aim(job.data.target)}</code>}
      >
        {may.write && isLive && <Button onClick={cancel}>Cancel this run</Button>}
      </PageHead>
      {(told.reason || told.error) && <Cause told={told} />}
      <div className="grid gap-5 xl:grid-cols-[26rem_minmax(0,1fr)]">
        <div className="space-y-5">
          <About told={told} zone={job.data && zoneOf(job.data.schedule)} />
          <Attempts told={told} />
        </div>
        <div className="min-w-0 space-y-5">
          <Panel title="Why">
            <div className="p-4">
              <Why job={told.job_id} at={told.scheduled_for} zone={job.data && zoneOf(job.data.schedule)} />
            </div>
          </Panel>
          {job.data && told.trigger !== "notice" && <Asked job={job.data} />}
          <Answer told={told} />
          {told.log && (
            <Panel title="Log">
              <div className="p-4">
                <Code label="Log">{told.log}</Code>
              </div>
            </Panel>
          )}
        </div>
      </div>
    </>
  );
}

/** What it says of itself, in sight at once. */
function Cause({ told }: { told: Told }) {
  const bad = Boolean(told.error);
  return (
    <div
      className={`wrap-anywhere mb-5 rounded-lg px-4 py-3 text-sm ${bad ? "bg-bad-tint text-bad" : "bg-warn-tint text-warn"}`}
    >
      {[told.reason, told.error].filter(Boolean).join(": ")}
      {told.note && <span className="text-ink"> “{told.note}”</span>}
    </div>
  );
}

/** What was sent, as far as the job still says so. */
function Asked({ job }: { job: Job }) {
  const { target } = job;
  if (target.type !== "http") return null;
  const headers = Object.entries(target.headers ?? {});
  const payload = job.payload ?? job.payload_base64;
  return (
    <Panel title="Request" aside={`as the job says, version ${job.version}`}>
      <div className="space-y-3 p-4">
        <Code label="Request">
          {[
            `${target.method ?? "POST"} ${target.url}`,
            ...headers.map(([name, value]) => `${name}: ${typeof value === "string" ? value : "********"}`),
          ].join("\n")}
        </Code>
        {payload != null && (
          <Code label="Payload">
            {typeof payload === "string" ? pretty(payload) : JSON.stringify(payload, null, 2)}
          </Code>
        )}
      </div>
    </Panel>
  );
}

function About({ told, zone }: { told: Told; zone: string | undefined }) {
  return (
    <Panel title="Execution">
      <Facts>
        <Fact name="Slot">
          <div>
            {absolute(told.scheduled_for)} {here}
          </div>
          {zone && zone !== here && (
            <div className="text-soft">
              {absolute(told.scheduled_for, zone)} {zone}
            </div>
          )}
        </Fact>
        <Fact name="Asked for by">{told.trigger.replaceAll("_", " ")}</Fact>
        <Fact name="Attempt">{told.attempt}</Fact>
        {told.run_at !== told.scheduled_for && (
          <Fact name="Could begin">
            <Moment at={told.run_at} both />
          </Fact>
        )}
        <Fact name="Began">
          <Moment at={told.started_at} both />
        </Fact>
        <Fact name="Ended">
          <Moment at={told.finished_at} both />
        </Fact>
        <Fact name="Took">
          <Took row={told} />
        </Fact>
        {told.last_heartbeat_at && (
          <Fact name="Last sign of life">
            <Moment at={told.last_heartbeat_at} />
          </Fact>
        )}
        {told.worker_id && (
          <Fact name="Worker">
            <code className="font-mono text-xs">{told.worker_id}</code>
          </Fact>
        )}
        <Fact name="Trace">
          <Link
            to="/audit"
            search={{ trace_id: told.trace_id }}
            className="font-mono text-accent text-xs underline underline-offset-2"
          >
            {told.trace_id}
          </Link>
        </Fact>
        <Fact name="Id">
          <code className="font-mono text-xs">{told.id}</code>
        </Fact>
      </Facts>
    </Panel>
  );
}

function Attempts({ told }: { told: Told }) {
  const { data } = useQuery({ ...executions(told.job_id), retry: false });
  const same = data?.items.filter(
    (it) => it.scheduled_for === told.scheduled_for && it.trigger === told.trigger,
  );
  if (!same || same.length < 2) return null;
  return (
    <Panel title="Attempts at this slot">
      <ol className="divide-y">
        {same.map((it) => (
          <li key={it.id} className="flex items-center justify-between gap-3 px-4 py-2 text-sm">
            {it.id === told.id ? (
              <span className="font-medium">Attempt {it.attempt}</span>
            ) : (
              <Link
                to="/executions/$id"
                params={{ id: it.id }}
                className="text-accent underline underline-offset-2"
              >
                Attempt {it.attempt}
              </Link>
            )}
            <span className="tabular flex items-center gap-3 text-faint">
              <Took row={it} /> <Status status={it.status} />
            </span>
          </li>
        ))}
      </ol>
    </Panel>
  );
}

function Answer({ told }: { told: Told }) {
  const body = told.response_body ?? told.response_body_base64;
  if (told.response_code == null && !body) return null;
  return (
    <Panel
      title="Answer"
      aside={
        <span className="tabular">
          {told.response_code}
          {told.response_time_ms != null && ` after ${span(told.response_time_ms)}`}
        </span>
      }
    >
      <div className="p-4">
        {body ? <Code label="Body">{pretty(body)}</Code> : <p className="text-faint text-sm">No body.</p>}
        {told.response_truncated && (
          <p className="mt-2 text-faint text-xs">The body went on; only its beginning is kept.</p>
        )}
      </div>
    </Panel>
  );
}

/** JSON with its lines broken, where that changes nothing else about it. */
function pretty(text: string): string {
  try {
    const json: unknown = JSON.parse(text);
    return JSON.stringify(json) === text ? JSON.stringify(json, null, 2) : text;
  } catch {
    return text;
  }
}
