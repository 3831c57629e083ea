/** Writing a subscription. */
import { useQueryClient } from "@tanstack/react-query";
import { type FormEvent, useState } from "react";
import { api, done, type NewSubscription, type Subscription } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { subscriptions } from "@/api/queries";
import { type Json, mergePatch } from "@/lib/merge-patch";
import { Button } from "@/ui/button";
import { Dialog } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { Refusal } from "@/ui/states";
import { say } from "@/ui/toast";

interface Draft {
  name: string;
  url: string;
  tag: string;
  jobs: string;
  secret: string;
  retries: string;
  timeout: string;
}

function draftOf(it: Subscription | undefined): Draft {
  return {
    name: it?.name ?? "",
    url: it?.url ?? "",
    tag: it?.filter?.tag ?? "",
    jobs: it?.filter?.name ?? "",
    secret: it?.signing_secret ?? "",
    retries: it?.max_retry == null ? "" : String(it.max_retry),
    timeout: it?.timeout_seconds == null ? "" : String(it.timeout_seconds),
  };
}

function bodyOf(draft: Draft, rest: Subscription["filter"]): NewSubscription {
  const filter = {
    ...(rest?.jobs && { jobs: rest.jobs }),
    ...(rest?.owner && { owner: rest.owner }),
    ...(draft.tag && { tag: draft.tag }),
    ...(draft.jobs && { name: draft.jobs }),
  };
  return {
    name: draft.name,
    url: draft.url,
    ...(Object.keys(filter).length > 0 && { filter }),
    ...(draft.secret && { signing_secret: draft.secret }),
    ...(draft.retries && { max_retry: Number(draft.retries) }),
    ...(draft.timeout && { timeout_seconds: Number(draft.timeout) }),
  };
}

interface Props {
  subscription: Subscription | undefined;
  onClose: () => void;
}

export function SubscriptionForm({ subscription: it, onClose }: Props) {
  const client = useQueryClient();
  const start = draftOf(it);
  const [draft, setDraft] = useState(start);
  const [error, setError] = useState<unknown>();
  const fields = fieldsOf(error);
  const input = (name: keyof Draft) => ({
    value: draft[name],
    onChange: ({ target }: { target: HTMLInputElement }) => setDraft({ ...draft, [name]: target.value }),
  });
  const submit = async (event: FormEvent) => {
    event.preventDefault();
    const rest = it?.filter ?? {};
    const body = bodyOf(draft, rest);
    try {
      if (it) {
        const params = { path: { id: it.id }, header: { "If-Match": `"${it.version}"` } };
        const patch = mergePatch(bodyOf(start, rest) as Json, body as Json);
        await done(api.PATCH("/subscriptions/{id}", { params: params as never, body: patch as never }));
      } else await done(api.POST("/subscriptions", { body }));
      await client.invalidateQueries({ queryKey: subscriptions.queryKey });
      say(`Saved: ${draft.name}`);
      onClose();
    } catch (problem) {
      setError(problem);
    }
  };
  const told = Object.keys(fields).length > 0;
  return (
    <Dialog open onClose={onClose} title={it ? `Edit ${it.name}` : "New subscription"} wide>
      <form onSubmit={submit} className="space-y-4">
        <div className="grid gap-4 sm:grid-cols-2">
          <Field label="Name" error={fields.name}>
            <Input required {...input("name")} />
          </Field>
          <Field label="URL" error={fields.url}>
            <Input
              required
              type="url"
              className="font-mono"
              placeholder="https://example.com/events"
              {...input("url")}
            />
          </Field>
          <Field label="Of jobs with the tag" hint="Left empty, of all." error={fields["filter.tag"]}>
            <Input {...input("tag")} />
          </Field>
          <Field label="Of jobs named" hint="Such as nightly-*." error={fields["filter.name"]}>
            <Input {...input("jobs")} />
          </Field>
          <Field
            label="Signing secret"
            hint="Signs each event by Standard Webhooks."
            error={fields.signing_secret}
            className="sm:col-span-2"
          >
            <Input className="font-mono" autoComplete="off" placeholder="whsec_…" {...input("secret")} />
          </Field>
          <Field label="Retries" hint="Then it is paused." error={fields.max_retry}>
            <Input type="number" min={0} placeholder="15" {...input("retries")} />
          </Field>
          <Field label="Answer within, in seconds" error={fields.timeout_seconds}>
            <Input type="number" min={0} step="any" placeholder="30" {...input("timeout")} />
          </Field>
        </div>
        {error !== undefined && <Refusal>{told && fields.filter ? fields.filter : inWords(error)}</Refusal>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Save
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
