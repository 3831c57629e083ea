/** What message jobs say, as they say it. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { Pause, Play } from "lucide-react";
import { useState } from "react";
import type { MessageEvent } from "@/api/client";
import { inWords } from "@/api/problem";
import { useTail } from "@/api/tail";
import { absolute, brief } from "@/lib/time";
import { JobLink } from "@/parts/job-link";
import { Button } from "@/ui/button";
import { PageHead, Panel } from "@/ui/panel";
import { Empty } from "@/ui/states";
import { Badge } from "@/ui/status";

const route = getRouteApi("/events");

export function Events() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const [running, setRunning] = useState(true);
  const { events, state, error } = useTail(filter, running);
  return (
    <>
      <PageHead title="Events" lead="What message jobs say, newest first.">
        <State running={running} state={state} />
        <Button onClick={() => setRunning(!running)}>
          {running ? <Pause /> : <Play />}
          {running ? "Hold" : "Go on"}
        </Button>
      </PageHead>
      <div className="mb-4 flex flex-wrap items-center gap-2">
        <input
          type="search"
          data-search=""
          aria-label="Tag"
          placeholder="Tag"
          className="input w-44"
          defaultValue={filter.tag ?? ""}
          onKeyDown={(event) => {
            if (event.key !== "Enter") return;
            navigate({ search: { ...filter, tag: event.currentTarget.value || undefined }, replace: true });
          }}
        />
        {filter.job && (
          <span className="inline-flex items-center gap-2 text-sm">
            of <JobLink id={filter.job} />
            <Button size="small" kind="quiet" onClick={() => navigate({ search: { tag: filter.tag } })}>
              Of all jobs
            </Button>
          </span>
        )}
      </div>
      {error !== undefined && state !== "live" && (
        <p role="alert" className="mb-4 rounded-md bg-bad-tint px-3 py-2 text-bad text-sm">
          {inWords(error)}
        </p>
      )}
      <Panel>
        {events.length === 0 ? (
          <Empty title={state === "live" ? "Nothing has been said yet" : "Listening…"}>
            Whatever a message job says appears here the moment it is said.
          </Empty>
        ) : (
          <ol className="divide-y" aria-label="Events">
            {events.map((event) => (
              <Line key={event.sequence} event={event} />
            ))}
          </ol>
        )}
      </Panel>
    </>
  );
}

function State({ running, state }: { running: boolean; state: string }) {
  if (!running) return <Badge tone="warn">Held</Badge>;
  if (state === "live") {
    return (
      <Badge tone="good">
        <span aria-hidden className="breathe size-1.5 rounded-full bg-current" /> Live
      </Badge>
    );
  }
  return (
    <Badge tone={state === "lost" ? "bad" : "plain"}>
      {state === "lost" ? "Lost, trying again" : "Connecting"}
    </Badge>
  );
}

function Line({ event }: { event: MessageEvent }) {
  const { text, structured } = event.content;
  return (
    <li className="grid gap-x-4 gap-y-0.5 px-4 py-2 text-sm sm:grid-cols-[8.5rem_12rem_minmax(0,1fr)_auto]">
      <time dateTime={event.occurred_at} title={absolute(event.occurred_at)} className="tabular text-faint">
        <Link to="/executions/$id" params={{ id: event.event_id }} className="hover:underline">
          {brief(event.occurred_at)}
        </Link>
      </time>
      <span className="flex min-w-0 items-baseline">
        <JobLink id={event.source.connector_id} />
      </span>
      <div className="wrap-anywhere min-w-0">
        {text && <p className="whitespace-pre-wrap">{text}</p>}
        {structured != null && (
          <code className="font-mono text-2xs text-soft">{JSON.stringify(structured)}</code>
        )}
      </div>
      <span className="tabular hidden text-2xs text-faint sm:inline">#{event.sequence}</span>
    </li>
  );
}
