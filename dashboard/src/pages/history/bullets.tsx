/** The notes of a period, each with the executions that bear it out. */
import { Link } from "@tanstack/react-router";
import type { TocNode } from "@/api/history";
import { Tag } from "@/ui/status";

/** Executions of a note that are linked. */
const SHOWN = 5;

export function Bullets({ node }: { node: TocNode }) {
  return (
    <div className="p-4">
      {node.bullets.length === 0 && <p className="text-faint text-sm">Nothing worth a note.</p>}
      <ul className="list-disc space-y-2 pl-5 text-sm marker:text-faint">
        {node.bullets.map((note) => (
          <li key={note.text} className="wrap-anywhere">
            {note.text}
            {note.evidence.length > 0 && (
              <span className="ml-2 inline-flex flex-wrap gap-1.5 text-xs">
                {note.evidence.slice(0, SHOWN).map((id, place) => (
                  <Link
                    key={id}
                    to="/executions/$id"
                    params={{ id }}
                    aria-label={`run ${place + 1} that bears it out`}
                    className="text-accent underline underline-offset-2"
                  >
                    run {place + 1}
                  </Link>
                ))}
                {note.evidence.length > SHOWN && (
                  <span className="text-faint">and {note.evidence.length - SHOWN} more</span>
                )}
              </span>
            )}
          </li>
        ))}
      </ul>
      {node.keywords.length > 0 && (
        <p className="mt-4 flex flex-wrap gap-1">
          {node.keywords.map((word) => (
            <Link key={word} to="/history" search={{ q: /[^\w-]/.test(word) ? `"${word}"` : word }}>
              <Tag>{word}</Tag>
            </Link>
          ))}
        </p>
      )}
    </div>
  );
}
