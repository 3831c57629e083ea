/** A job: what it is, where it stands, and what became of every slot. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import {
  Copy,
  Ellipsis,
  FileJson,
  Pause,
  Pencil,
  Play,
  Power,
  RotateCw,
  Terminal,
  Trash2,
} from "lucide-react";
import { lazy, Suspense, useState } from "react";
import type { Job as Told } from "@/api/client";
import { executions, job as query } from "@/api/queries";
import { ACTS } from "@/api/verbs";
import { span } from "@/lib/time";
import { described, plural, statusOf, zoneOf } from "@/lib/words";
import { useActs } from "@/parts/act-on";
import { toClipboard } from "@/parts/code";
import { useMay } from "@/parts/may";
import { Moment } from "@/parts/moment";
import { Button } from "@/ui/button";
import { Divider, Item, Menu } from "@/ui/menu";
import { PageHead, Panel } from "@/ui/panel";
import { Failed, Loading } from "@/ui/states";
import { Status } from "@/ui/status";
import { say } from "@/ui/toast";
import { AskWhy } from "./job/ask-why";
import { Backfills } from "./job/backfills";
import { Definition } from "./job/definition";
import { Executions } from "./job/executions";
import { PauseDialog } from "./job/pause";
import { asCommand, asCurl } from "./job/recipes";

const Durations = lazy(() => import("./job/durations"));
const route = getRouteApi("/jobs/$id");

export function Job() {
  const { id } = route.useParams();
  const asked = useQuery(query(id));
  if (asked.isPending) return <Loading />;
  if (!asked.data) return <Failed error={asked.error} retry={() => asked.refetch()} />;
  const job = asked.data;
  return (
    <>
      <Head job={job} />
      {job.paused && <Paused job={job} />}
      <Standing job={job} />
      <Trend job={job} />
      <div className="grid gap-5 xl:grid-cols-[minmax(0,1fr)_23rem]">
        <div className="min-w-0 space-y-5">
          <Executions job={job} />
          <AskWhy job={job} />
        </div>
        <div className="min-w-0 space-y-5">
          <Definition job={job} />
          <Backfills job={job} />
        </div>
      </div>
    </>
  );
}

function Head({ job }: { job: Told }) {
  const may = useMay();
  const navigate = useNavigate();
  const [pausing, setPausing] = useState(false);
  const acts = useActs((act) => act === ACTS.purge && navigate({ to: "/jobs" }));
  const copy = async (text: string, what: string) => {
    if (await toClipboard(text)) say(`Copied as ${what}`);
  };
  return (
    <>
      <p className="mb-1 text-sm">
        <Link to="/jobs" className="text-soft underline-offset-2 hover:text-ink hover:underline">
          Jobs
        </Link>
      </p>
      <PageHead
        name={job.name}
        title={
          <span className="inline-flex flex-wrap items-center gap-x-3 gap-y-1">
            {job.name} <Status status={statusOf(job)} />
          </span>
        }
        lead={described(job)}
      >
        {may.write && (
          <>
            {job.paused ? (
              <Button onClick={() => acts.actAtOnce(ACTS.resume, job)}>
                <RotateCw /> Resume
              </Button>
            ) : (
              <Button disabled={!job.enabled} onClick={() => setPausing(true)}>
                <Pause /> Pause
              </Button>
            )}
            <Button asChild>
              <Link to="/jobs/$id/edit" params={{ id: job.id }}>
                <Pencil /> Edit
              </Link>
            </Button>
            <Button kind="primary" onClick={() => acts.actAtOnce(ACTS.run, job)}>
              <Play /> Run now
            </Button>
          </>
        )}
        <Menu
          trigger={
            <Button size="icon" aria-label="More actions">
              <Ellipsis />
            </Button>
          }
        >
          {may.write && (
            <>
              <Item onSelect={() => navigate({ to: "/jobs/new", search: { from: job.id } })}>
                <Copy /> Duplicate
              </Item>
              <Item onSelect={() => acts.actAtOnce(ACTS.retry, job)}>
                <RotateCw /> Retry now
              </Item>
            </>
          )}
          <Item onSelect={() => copy(asCurl(job), "curl")}>
            <Terminal /> Copy as curl
          </Item>
          <Item onSelect={() => copy(asCommand(job), "a command")}>
            <Terminal /> Copy as command
          </Item>
          <Item onSelect={() => copy(JSON.stringify(job, null, 2), "JSON")}>
            <FileJson /> Copy as JSON
          </Item>
          {may.write && (
            <>
              <Divider />
              {ACTS.switchOn.isFor(job) ? (
                <Item onSelect={() => acts.actAtOnce(ACTS.switchOn, job)}>
                  <Power /> Switch on
                </Item>
              ) : (
                <Item disabled={!ACTS.switchOff.isFor(job)} onSelect={() => acts.act(ACTS.switchOff, [job])}>
                  <Power /> Switch off…
                </Item>
              )}
              <Item danger onSelect={() => acts.act(ACTS.purge, [job])}>
                <Trash2 /> Delete…
              </Item>
            </>
          )}
        </Menu>
      </PageHead>
      {acts.dialog}
      <PauseDialog job={job} open={pausing} onClose={() => setPausing(false)} />
    </>
  );
}

function Paused({ job }: { job: Told }) {
  return (
    <div className="mb-5 rounded-lg bg-warn-tint px-4 py-3 text-sm text-warn">
      Paused <Moment at={job.paused?.since} />
      {job.paused?.resume_at && (
        <>
          , resumes by itself <Moment at={job.paused.resume_at} both />
        </>
      )}
      {job.paused?.note && <span className="wrap-anywhere text-ink">: {job.paused.note}</span>}
    </div>
  );
}

function Standing({ job }: { job: Told }) {
  const zone = zoneOf(job.schedule);
  const { succeeded, failed, skipped, failed_in_a_row } = job.counts;
  const ended = succeeded + failed;
  return (
    <dl className="mb-5 grid grid-cols-2 gap-px overflow-hidden rounded-lg border bg-line lg:grid-cols-4">
      <Figure name="Next run">
        <Moment coming at={job.next_execution_time} zone={zone} both />
      </Figure>
      <Figure name="Last run">
        {job.last_run_at ? <Moment at={job.last_run_at} zone={zone} both /> : "never"}
      </Figure>
      <Figure name="Succeeded">
        {ended === 0 ? "–" : `${Math.round((succeeded / ended) * 1000) / 10} %`}
        <span className="ml-2 text-faint text-xs">
          {ended > 0 && `of ${plural(ended, "run")}`}
          {skipped > 0 && `, ${plural(skipped, "slot")} skipped`}
          {failed_in_a_row > 1 && `, ${failed_in_a_row} failures in a row`}
        </span>
      </Figure>
      <Figure name="Last took">{job.last_duration_ms == null ? "–" : span(job.last_duration_ms)}</Figure>
    </dl>
  );
}

function Figure({ name, children }: { name: string; children: React.ReactNode }) {
  return (
    <div className="bg-surface px-4 py-3">
      <dt className="text-faint text-xs">{name}</dt>
      <dd className="tabular mt-0.5 font-medium">{children}</dd>
    </div>
  );
}

function Trend({ job }: { job: Told }) {
  const { data } = useQuery(executions(job.id));
  const ran = data?.items.filter((it) => it.duration_ms != null && it.trigger !== "notice") ?? [];
  if (ran.length < 3) return null;
  return (
    <Panel
      title="Durations"
      aside={`the newest ${plural(ran.length, "run")}; bars in red did not succeed`}
      className="mb-5"
    >
      <div className="h-36 px-2 pt-3 pb-1">
        <Suspense fallback={<Loading rows={3} />}>
          <Durations executions={ran} />
        </Suspense>
      </div>
    </Panel>
  );
}
