/** Periods in a line each: when, what stood out, and how runs ended. */
import { Link } from "@tanstack/react-router";
import type { TocHeadline } from "@/api/history";
import { number } from "@/lib/words";

export function Parts({ items }: { items: TocHeadline[] }) {
  const most = Math.max(1, ...items.map((item) => item.endings.total));
  return (
    <ol className="divide-y text-sm">
      {items.map((item) => (
        <li key={item.id} className="px-4 py-2 hover:bg-hover">
          <div className="flex flex-wrap items-baseline justify-between gap-x-4 gap-y-0.5">
            <Link
              to="/history"
              search={{ node: item.id }}
              className="font-medium underline-offset-2 hover:underline"
            >
              {item.title}
            </Link>
            <Ends item={item} most={most} />
          </div>
          {item.headline && <p className="wrap-anywhere text-soft text-xs">{item.headline}</p>}
        </li>
      ))}
    </ol>
  );
}

function Ends({ item: { endings, skipped }, most }: { item: TocHeadline; most: number }) {
  const failed = endings.failed + endings.timed_out + endings.stuck;
  const part = (count: number) => ({ width: `${(100 * count) / most}%` });
  return (
    <span className="tabular flex items-center gap-2 text-faint text-xs">
      <span aria-hidden className="hidden h-1.5 w-28 overflow-hidden rounded-full bg-sunken sm:flex">
        <span className="h-full bg-good" style={part(endings.success)} />
        <span className="h-full bg-bad-fill" style={part(failed)} />
      </span>
      {number.format(endings.total)} ended
      {failed > 0 && <span className="text-bad">{number.format(failed)} failed</span>}
      {skipped > 0 && <span className="text-warn">{number.format(skipped)} skipped</span>}
    </span>
  );
}
