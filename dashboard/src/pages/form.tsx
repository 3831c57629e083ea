/** One form to make a job and to change it. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { getRouteApi, Link, useNavigate } from "@tanstack/react-router";
import { type FormEvent, useMemo, useState } from "react";
import { api, done, type Job, type NewJob } from "@/api/client";
import { fieldsOf, inWords, Problem } from "@/api/problem";
import { job as query } from "@/api/queries";
import { type Json, mergePatch } from "@/lib/merge-patch";
import { Button } from "@/ui/button";
import { Field, Input } from "@/ui/field";
import { PageHead, Panel } from "@/ui/panel";
import { Failed, Loading, Refusal } from "@/ui/states";
import { say } from "@/ui/toast";
import { Copies } from "./form/copies";
import { asked, BLANK, type Draft, draftOf } from "./form/draft";
import { Effect } from "./form/effect";
import { PolicyFields, TargetFields } from "./form/parts";
import { Meaning, ScheduleFields } from "./form/schedule";

const editRoute = getRouteApi("/jobs/$id/edit");
const newRoute = getRouteApi("/jobs/new");

export function NewJobPage() {
  const { from } = newRoute.useSearch();
  const original = useQuery({
    ...query(from ?? ""),
    queryKey: ["copied", from ?? ""],
    enabled: Boolean(from),
  });
  if (from && original.isPending) return <Loading />;
  const draft = original.data ? { ...draftOf(original.data), name: `${original.data.name} copy` } : BLANK;
  return <Form start={draft} />;
}

export function EditJobPage() {
  const { id } = editRoute.useParams();
  const original = useQuery({
    ...query(id),
    // What is being written must not change below the pen.
    queryKey: ["edited", id],
    gcTime: 0,
    staleTime: 0,
    refetchOnWindowFocus: false,
  });
  if (original.isPending) return <Loading />;
  if (!original.data) return <Failed error={original.error} retry={() => original.refetch()} />;
  return <Form start={draftOf(original.data)} job={original.data} />;
}

function Form({ start, job }: { start: Draft; job?: Job }) {
  const navigate = useNavigate();
  const client = useQueryClient();
  const [draft, setDraft] = useState(start);
  const [error, setError] = useState<unknown>();
  const [busy, setBusy] = useState(false);
  const set = (change: Partial<Draft>) => setDraft((before) => ({ ...before, ...change }));
  const { body, wrong } = useMemo(() => asked(draft), [draft]);
  const errors: Record<string, string> = { ...fieldsOf(error), ...wrong };
  const patch = job && mergePatch(asked(start).body as Json, body as Json);
  const parts = { draft, set, errors };

  const submit = async (event: FormEvent) => {
    event.preventDefault();
    if (Object.keys(wrong).length > 0) return;
    setBusy(true);
    try {
      const saved = job ? await change(job, patch ?? {}) : await make(body);
      await client.invalidateQueries();
      say(job ? `Saved: ${saved.name}` : `Made: ${saved.name}`);
      if (saved.dropped_secrets?.length) {
        say(`It calls another host, so it lost its secrets: ${saved.dropped_secrets.join(", ")}`, true);
      }
      await navigate({ to: "/jobs/$id", params: { id: saved.id } });
    } catch (problem) {
      setError(problem);
    } finally {
      setBusy(false);
    }
  };
  const isStale = error instanceof Problem && error.status === 412;
  return (
    <form onSubmit={submit}>
      <p className="mb-1 text-sm">
        <Link to="/jobs" className="text-soft underline-offset-2 hover:text-ink hover:underline">
          Jobs
        </Link>
      </p>
      <PageHead title={job ? `Edit ${job.name}` : "New job"}>
        <Copies body={body} name={job?.name} />
      </PageHead>
      <div className="grid items-start gap-5 xl:grid-cols-[minmax(0,1fr)_24rem]">
        <div className="min-w-0 space-y-5">
          <Panel title="What">
            <div className="space-y-4 p-4">
              <div className="grid gap-4 sm:grid-cols-2">
                <Field label="Name" hint={job ? undefined : "Left empty, it gets one."} error={errors.name}>
                  <Input
                    value={draft.name}
                    onChange={({ target }) => set({ name: target.value })}
                    autoFocus={!job}
                  />
                </Field>
                <Field label="Tags" hint="With commas between them." error={errors.tags}>
                  <Input value={draft.tags} onChange={({ target }) => set({ tags: target.value })} />
                </Field>
              </div>
              <TargetFields {...parts} />
            </div>
          </Panel>
          <Panel title="When">
            <div className="p-4">
              <ScheduleFields {...parts} />
            </div>
          </Panel>
          <Panel title="If it goes wrong, or gets late">
            <div className="p-4">
              <PolicyFields {...parts} />
            </div>
          </Panel>
        </div>
        <div className="min-w-0 space-y-5 xl:sticky xl:top-6">
          <Panel title="Next runs">
            <div className="p-4">
              <Meaning draft={draft} />
            </div>
          </Panel>
          {job && patch && Object.keys(patch).length > 0 && (
            <Effect job={job} patch={patch} before={asked(start).body as Json} after={body as Json} />
          )}
          {error !== undefined && (
            <Refusal>
              {isStale
                ? "Somebody else changed the job meanwhile. Load it again to see their change."
                : inWords(error)}
            </Refusal>
          )}
          <div className="flex gap-2">
            <Button
              type="submit"
              kind="primary"
              disabled={busy || (job && Object.keys(patch ?? {}).length === 0)}
            >
              {job ? "Save changes" : "Create job"}
            </Button>
            <Button onClick={() => history.back()}>Cancel</Button>
          </div>
        </div>
      </div>
    </form>
  );
}

function make(body: NewJob): Promise<Job> {
  const recurs = body.schedule?.type !== "one_shot";
  return done(recurs ? api.POST("/jobs/recurring", { body }) : api.POST("/jobs", { body }));
}

function change(job: Job, patch: Json): Promise<Job> {
  const params = { path: { id: job.id }, header: { "If-Match": `"${job.version}"` } };
  return done(api.PATCH("/jobs/{id}", { params: params as never, body: patch as never }));
}
