/** What failed for good, by what went wrong, and another try for it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { useState } from "react";
import { api, done, type Execution } from "@/api/client";
import { inWords, Problem } from "@/api/problem";
import { deadLetters } from "@/api/queries";
import { brief } from "@/lib/time";
import { plural } from "@/lib/words";
import { JobLink } from "@/parts/job-link";
import { useMay } from "@/parts/may";
import { Moment } from "@/parts/moment";
import { Button } from "@/ui/button";
import { Confirm } from "@/ui/dialog";
import { PageHead, Panel, Table, Td, Th, Tr } from "@/ui/panel";
import { Empty, Failed, Loading } from "@/ui/states";
import { Status } from "@/ui/status";
import { say } from "@/ui/toast";

/** Dead letters that are redriven by one request. */
const AT_ONCE = 1000;

type Asked = { all: true; limit: number } | { ids: string[] };

export function DeadLetters() {
  const may = useMay();
  const client = useQueryClient();
  const [trail, setTrail] = useState<string[]>([]);
  const [asking, setAsking] = useState<{ what: string; body: Asked }>();
  const asked = useQuery(deadLetters(trail.at(-1)));
  const groups = byError(asked.data?.items ?? []);
  const next = asked.data?.next_cursor;
  const redrive = async (body: Asked) => {
    const { redriven, refused, more } = await done(api.POST("/dead-letters/redrive", { body }));
    await client.invalidateQueries();
    if (redriven.length > 0)
      say(`Another try for ${plural(redriven.length, "execution")}${more ? "; there are more" : ""}`);
    if (refused[0]) {
      say(
        `${plural(refused.length, "execution")} refused: ${inWords(new Problem(refused[0].problem))}`,
        true,
      );
    }
  };
  return (
    <>
      <PageHead title="Dead letters" lead="Executions whose slot failed for good, after every retry.">
        {may.write && groups.length > 0 && (
          <Button
            onClick={() => setAsking({ what: "all dead letters", body: { all: true, limit: AT_ONCE } })}
          >
            Redrive all
          </Button>
        )}
      </PageHead>
      {asked.isPending && <Loading />}
      {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
      {asked.data && groups.length === 0 && (
        <Panel>
          <Empty title="Nothing failed for good">
            What does, after its last retry, is kept here until it is given another try.
          </Empty>
        </Panel>
      )}
      <div className="space-y-5">
        {groups.map(([error, letters]) => (
          <Panel
            key={error}
            title={error}
            aside={
              <>
                <span className="tabular">{plural(letters.length, "execution")}</span>
                {may.write && (
                  <Button
                    size="small"
                    onClick={() =>
                      setAsking({
                        what: plural(letters.length, "execution"),
                        body: { ids: letters.map((it) => it.id) },
                      })
                    }
                  >
                    Redrive these
                  </Button>
                )}
              </>
            }
          >
            <Letters letters={letters} onRedrive={may.write ? (id) => redrive({ ids: [id] }) : undefined} />
          </Panel>
        ))}
      </div>
      {(trail.length > 0 || next) && (
        <div className="mt-4 flex justify-end gap-2">
          <Button size="small" disabled={trail.length === 0} onClick={() => setTrail(trail.slice(0, -1))}>
            Previous
          </Button>
          <Button size="small" disabled={!next} onClick={() => next && setTrail([...trail, next])}>
            Next
          </Button>
        </div>
      )}
      <Confirm
        open={Boolean(asking)}
        onClose={() => setAsking(undefined)}
        title={`Redrive ${asking?.what ?? ""}`}
        act="Redrive"
        onAct={async () => asking && redrive(asking.body)}
      >
        <p>
          Each gets another attempt at the same slot, with the same idempotency key, and leaves this list.
        </p>
      </Confirm>
    </>
  );
}

function byError(letters: Execution[]): [string, Execution[]][] {
  const groups = new Map<string, Execution[]>();
  for (const letter of letters) {
    const error = letter.error ?? letter.reason ?? letter.status;
    groups.set(error, [...(groups.get(error) ?? []), letter]);
  }
  return [...groups].sort(([, a], [, b]) => b.length - a.length);
}

/** Rows of a group that are shown at first. */
const SHOWN = 8;

interface LettersProps {
  letters: Execution[];
  onRedrive: ((id: string) => Promise<void>) | undefined;
}

function Letters({ letters, onRedrive }: LettersProps) {
  const [all, setAll] = useState(false);
  const shown = all ? letters : letters.slice(0, SHOWN);
  const act = (id: string) => onRedrive?.(id).catch((error) => say(inWords(error), true));
  return (
    <>
      <Table label="Dead letters">
        <thead>
          <tr>
            <Th>Job</Th>
            <Th>Slot</Th>
            <Th className="hidden sm:table-cell">Status</Th>
            <Th className="hidden sm:table-cell">Attempts</Th>
            <Th className="hidden md:table-cell">Failed</Th>
            {onRedrive && (
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            )}
          </tr>
        </thead>
        <tbody>
          {shown.map((letter) => (
            <Tr key={letter.id}>
              <Td className="max-w-64">
                <JobLink id={letter.job_id} />
              </Td>
              <Td className="tabular whitespace-nowrap">
                <Link
                  to="/executions/$id"
                  params={{ id: letter.id }}
                  className="underline-offset-2 hover:underline"
                >
                  {brief(letter.scheduled_for)}
                </Link>
              </Td>
              <Td className="hidden sm:table-cell">
                <Status status={letter.status} />
              </Td>
              <Td className="tabular hidden sm:table-cell">{letter.attempt}</Td>
              <Td className="hidden md:table-cell">
                <Moment at={letter.finished_at} />
              </Td>
              {onRedrive && (
                <Td className="py-1 text-right">
                  <Button size="small" onClick={() => act(letter.id)}>
                    Redrive
                  </Button>
                </Td>
              )}
            </Tr>
          ))}
        </tbody>
      </Table>
      {letters.length > SHOWN && !all && (
        <div className="border-t px-4 py-2">
          <Button size="small" kind="quiet" onClick={() => setAll(true)}>
            Show {letters.length - SHOWN} more
          </Button>
        </div>
      )}
    </>
  );
}
