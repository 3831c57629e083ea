/** What message jobs say, as they say it. */
import { getRouteApi, Link } from "@tanstack/react-router";
import { Pause, Play } from "lucide-react";
import { memo, useState } from "react";
import { api, done, type MessageEvent } from "@/api/client";
import { inWords } from "@/api/problem";
import { type Source, useTail } from "@/api/tail";
import { absolute, brief } from "@/lib/time";
import { JobLink } from "@/parts/job-link";
import { TailState } from "@/parts/tail-state";
import { Button } from "@/ui/button";
import { PageHead, Panel } from "@/ui/panel";
import { Empty } from "@/ui/states";

const route = getRouteApi("/events");
/** Events from before that are shown at first. */
const BEFORE = 50;

interface Filter {
  job?: string;
  tag?: string;
}

const source = ({ job, tag }: Filter): Source<MessageEvent> => {
  const query = { ...(job && { job }), ...(tag && { tag }) };
  return {
    path: "/events/stream",
    query,
    keyOf: (event) => String(event.sequence),
    before: async (id) => {
      const after = String(Math.max(0, Number(id) - BEFORE));
      const page = await done(api.GET("/events", { params: { query: { ...query, after, limit: BEFORE } } }));
      return page.items.filter((event) => event.sequence <= Number(id)).reverse();
    },
  };
};

export function Events() {
  const filter = route.useSearch();
  const navigate = route.useNavigate();
  const [running, setRunning] = useState(true);
  const { items: events, state, error } = useTail(source(filter), running);
  return (
    <>
      <PageHead title="Events" lead="What message jobs say, newest first.">
        <TailState running={running} state={state} />
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

/** Drawn once: what was said does not change. */
const Line = memo(function Line({ event }: { event: MessageEvent }) {
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
});
