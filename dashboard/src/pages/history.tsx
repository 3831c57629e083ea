/** The history: from years down to hours, what happened and what bears it out; and a search through it. */
import { useQuery } from "@tanstack/react-query";
import { getRouteApi, Link } from "@tanstack/react-router";
import { ChevronLeft, ChevronRight } from "lucide-react";
import { historyStanding, type TocHeadline, type TocNode, tocList, tocNode } from "@/api/history";
import { inWords, Problem } from "@/api/problem";
import { number, plural } from "@/lib/words";
import { Button } from "@/ui/button";
import { PageHead, Panel } from "@/ui/panel";
import { Empty, Failed, Loading, Refusal } from "@/ui/states";
import { Badge } from "@/ui/status";
import { Bullets } from "./history/bullets";
import { Figures, Worst } from "./history/figures";
import { Parts } from "./history/parts";
import { Search } from "./history/search";

const route = getRouteApi("/history");

export function History() {
  const { q, node } = route.useSearch();
  const searching = q !== undefined;
  return (
    <>
      <PageHead title="History" lead="What happened, from years down to hours, and what bears it out." />
      <Search />
      {!searching && <Standing />}
      {!searching && (node ? <Period key={node} node={node} /> : <Years />)}
    </>
  );
}

/** How the history itself is, where that needs a word. */
function Standing() {
  const { data } = useQuery(historyStanding);
  if (!data || data.status === "following") return null;
  const behind = data.newest - data.read;
  return (
    <div className="mb-4">
      {data.problem ? (
        <Refusal>{inWords(new Error(data.problem))}</Refusal>
      ) : (
        <p role="status" className="rounded-md bg-warn-tint px-3 py-2 text-sm text-warn">
          {data.status === "absent"
            ? "This node keeps no history."
            : `The history is catching up; ${plural(behind, "decision")} to go.`}
        </p>
      )}
    </div>
  );
}

function Years() {
  const asked = useQuery(tocList("year"));
  const days = useQuery(tocList("day", 6 * 86_400_000));
  const hours = useQuery(tocList("hour", 23 * 3_600_000));
  if (asked.isPending) return <Loading />;
  if (!asked.data) return <Failed error={asked.error} retry={() => asked.refetch()} />;
  const sections: [string, TocHeadline[]][] = [
    ["The last hours", (hours.data ?? []).toReversed()],
    ["The last days", (days.data ?? []).toReversed()],
    ["Years", asked.data.toReversed()],
  ];
  const told = sections.filter(([, items]) => items.length > 0);
  if (told.length === 0) {
    return (
      <Panel>
        <Empty title="Nothing is told of yet">
          An hour is told of once it is over, a day and all that is longer from its hours on.
        </Empty>
      </Panel>
    );
  }
  return (
    <div className="grid items-start gap-5 xl:grid-cols-2">
      {told.map(([title, items]) => (
        <Panel key={title} title={title}>
          <Parts items={items} />
        </Panel>
      ))}
    </div>
  );
}

function Period({ node }: { node: string }) {
  const asked = useQuery(tocNode(node));
  if (asked.isPending) return <Loading />;
  if (!asked.data) {
    const gone = asked.error instanceof Problem && asked.error.status === 404;
    return gone ? (
      <Panel>
        <Empty
          title="Nothing is told of this time"
          act={
            <Button asChild>
              <Link to="/history">All years</Link>
            </Button>
          }
        >
          {inWords(asked.error)}
        </Empty>
      </Panel>
    ) : (
      <Failed error={asked.error} retry={() => asked.refetch()} />
    );
  }
  return <Told node={asked.data} />;
}

function Told({ node }: { node: TocNode }) {
  return (
    <article aria-label={node.title}>
      <Trail node={node} />
      <div className="mb-4 flex flex-wrap items-center justify-between gap-3">
        <h2 className="flex flex-wrap items-center gap-3 font-semibold text-lg tracking-tight">
          {node.title}
          {node.phase === "partial" && <Badge tone="busy">not over yet</Badge>}
        </h2>
        <nav aria-label="Neighbours" className="flex gap-2">
          <Neighbour node={node.previous} name="Before">
            <ChevronLeft /> Before
          </Neighbour>
          <Neighbour node={node.next} name="After">
            After <ChevronRight />
          </Neighbour>
        </nav>
      </div>
      <div className="grid items-start gap-5 xl:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0 space-y-5">
          <Panel title="What happened" aside={plural(node.jobs, "job")}>
            <Bullets node={node} />
          </Panel>
          {node.children.length > 0 && (
            <Panel title={CHILDREN[node.level] ?? "Parts"} aside={number.format(node.children.length)}>
              <Parts items={node.children} />
            </Panel>
          )}
        </div>
        <div className="min-w-0 space-y-5">
          <Figures figures={node.figures} />
          <Worst node={node} />
        </div>
      </div>
    </article>
  );
}

const CHILDREN: Record<string, string> = { year: "Months", month: "Weeks", week: "Days", day: "Hours" };

function Neighbour({
  node,
  name,
  children,
}: {
  node?: string | null;
  name: string;
  children: React.ReactNode;
}) {
  if (!node) {
    return (
      <Button size="small" disabled>
        {children}
      </Button>
    );
  }
  return (
    <Button size="small" asChild>
      <Link to="/history" search={{ node }} aria-label={name}>
        {children}
      </Link>
    </Button>
  );
}

/** The way back up to the years. */
function Trail({ node }: { node: TocNode }) {
  return (
    <p className="mb-1 flex flex-wrap gap-1.5 text-sm text-soft">
      <Link to="/history" className="underline-offset-2 hover:text-ink hover:underline">
        All years
      </Link>
      {node.parent && <Above node={node.parent} />}
    </p>
  );
}

function Above({ node }: { node: string }) {
  const { data } = useQuery(tocNode(node));
  return (
    <>
      {data?.parent && <Above node={data.parent} />}
      <span aria-hidden>/</span>
      <Link to="/history" search={{ node }} className="underline-offset-2 hover:text-ink hover:underline">
        {data?.title ?? node}
      </Link>
    </>
  );
}
