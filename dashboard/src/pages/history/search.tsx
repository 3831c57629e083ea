/** Looking through the history: words, fields and times; what was found, with what was looked for marked. */
import { useInfiniteQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { Search as Glass, X } from "lucide-react";
import { type FormEvent, useEffect, useState } from "react";
import { fieldsOf, inWords } from "@/api/problem";
import { type Fragment, type Hit, search } from "@/api/search";
import { absolute, brief } from "@/lib/time";
import { plural } from "@/lib/words";
import { Button } from "@/ui/button";
import { Panel } from "@/ui/panel";
import { Empty, Loading, Refusal } from "@/ui/states";
import { Badge, Status } from "@/ui/status";
import { Facets } from "./facets";

const route = getRouteApi("/history");

export function Search() {
  const { q } = route.useSearch();
  const navigate = route.useNavigate();
  const [text, setText] = useState(q ?? "");
  useEffect(() => setText(q ?? ""), [q]);
  const submit = (event: FormEvent) => {
    event.preventDefault();
    navigate({ search: text.trim() ? { q: text.trim() } : {} });
  };
  return (
    <>
      <form onSubmit={submit} className="mb-5" aria-label="Search the history">
        <div className="flex flex-wrap gap-2">
          <div className="relative min-w-0 grow basis-60">
            <Glass className="absolute top-2 left-2.5 size-4 text-faint" aria-hidden />
            <input
              type="search"
              data-search=""
              aria-label="Search the history"
              placeholder={'job:invoice status:failed "connection reset" after:2026-11-01  /'}
              value={text}
              onChange={({ target }) => setText(target.value)}
              className="input pl-8"
            />
          </div>
          <Button type="submit">Search</Button>
          {q !== undefined && (
            <Button kind="quiet" asChild>
              <Link to="/history">
                <X /> Clear
              </Link>
            </Button>
          )}
        </div>
      </form>
      {q !== undefined && (
        <Results key={q} q={q} onNarrow={(more) => navigate({ search: { q: `${q} ${more}`.trim() } })} />
      )}
    </>
  );
}

function Results({ q, onNarrow }: { q: string; onNarrow: (more: string) => void }) {
  const asked = useInfiniteQuery(search(q));
  if (asked.isPending) return <Loading />;
  if (!asked.data) {
    return <Refusal>{fieldsOf(asked.error).query ?? inWords(asked.error)}</Refusal>;
  }
  const hits = asked.data.pages.flatMap((page) => page.items);
  const tally = asked.data.pages[0]?.tally;
  if (hits.length === 0) {
    return (
      <Panel>
        <Empty title="Nothing like that was found">
          Words are looked for in errors, answers, logs, audit and messages. Fields such as job:, status:,
          kind:, after: and before: narrow it.
        </Empty>
      </Panel>
    );
  }
  return (
    <div className="grid items-start gap-5 xl:grid-cols-[minmax(0,1fr)_20rem]">
      <Panel
        title="Found"
        aside={
          tally && `${tally.exact ? "" : "about "}${plural(tally.total, "thing")}, the best and newest first`
        }
      >
        <ol className="divide-y" aria-label="Found">
          {hits.map((hit, place) => (
            // biome-ignore lint/suspicious/noArrayIndexKey: what was found stays where it is
            <Row key={place} hit={hit} />
          ))}
        </ol>
        {asked.hasNextPage && (
          <div className="border-t px-4 py-2">
            <Button size="small" disabled={asked.isFetchingNextPage} onClick={() => asked.fetchNextPage()}>
              More
            </Button>
          </div>
        )}
      </Panel>
      {tally && <Facets tally={tally} onNarrow={onNarrow} />}
    </div>
  );
}

function Row({ hit }: { hit: Hit }) {
  return (
    <li className="px-4 py-2.5 text-sm">
      <div className="flex flex-wrap items-center gap-x-3 gap-y-1">
        <Title hit={hit} />
        {hit.status ? <Status status={hit.status} /> : <Badge>{hit.type}</Badge>}
        <time
          dateTime={hit.at}
          title={absolute(hit.at)}
          className="tabular ml-auto whitespace-nowrap text-faint text-xs"
        >
          {brief(hit.at)}
        </time>
      </div>
      {hit.text.length > 0 && (
        <p className="wrap-anywhere mt-1 text-soft">
          <Marked fragments={hit.text} />
        </p>
      )}
      {hit.output.length > 0 && (
        <p className="wrap-anywhere mt-1 rounded bg-sunken px-2 py-1 font-mono text-2xs text-soft">
          <Marked fragments={hit.output} />
        </p>
      )}
    </li>
  );
}

function Title({ hit }: { hit: Hit }) {
  const name = hit.name.length > 0 ? <Marked fragments={hit.name} /> : hit.type;
  const look = "wrap-anywhere min-w-0 font-medium underline-offset-2 hover:underline";
  if (hit.toc_id) {
    return (
      <Link to="/history" search={{ node: hit.toc_id }} className={look}>
        {name}
      </Link>
    );
  }
  if (hit.execution_id) {
    return (
      <Link to="/executions/$id" params={{ id: hit.execution_id }} className={look}>
        {name}
      </Link>
    );
  }
  if (hit.job_id) {
    return (
      <Link to="/jobs/$id" params={{ id: hit.job_id }} className={look}>
        {name}
      </Link>
    );
  }
  return <span className="font-medium">{name}</span>;
}

/** A text whose fragments were looked for, or not. */
function Marked({ fragments }: { fragments: Fragment[] }) {
  return fragments.map(({ text, marked }, place) =>
    marked ? (
      // biome-ignore lint/suspicious/noArrayIndexKey: fragments have nothing but their place
      <mark key={place} className="rounded-sm bg-warn-tint px-0.5 text-ink">
        {text}
      </mark>
    ) : (
      text
    ),
  );
}
