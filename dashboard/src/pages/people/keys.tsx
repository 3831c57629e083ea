/** One's own API keys. */
import { useQuery, useQueryClient } from "@tanstack/react-query";
import { Plus } from "lucide-react";
import { type FormEvent, useState } from "react";
import { api, done, type Key } from "@/api/client";
import { fieldsOf, inWords } from "@/api/problem";
import { keys } from "@/api/queries";
import { fromLocalField } from "@/lib/time";
import { Code } from "@/parts/code";
import { Moment } from "@/parts/moment";
import { Button } from "@/ui/button";
import { Confirm, Dialog } from "@/ui/dialog";
import { Field, Input } from "@/ui/field";
import { Panel, Table, Td, Th, Tr } from "@/ui/panel";
import { Empty, Failed, Loading, Refusal } from "@/ui/states";
import { Tag } from "@/ui/status";
import { say } from "@/ui/toast";

const SCOPES = ["read", "write", "admin"];

export function Keys() {
  const client = useQueryClient();
  const asked = useQuery(keys);
  const [adding, setAdding] = useState(false);
  const [revoking, setRevoking] = useState<Key>();
  const again = () => client.invalidateQueries({ queryKey: keys.queryKey });
  return (
    <Panel
      title="Your API keys"
      aside={
        <Button size="small" onClick={() => setAdding(true)}>
          <Plus /> New key
        </Button>
      }
    >
      {asked.isPending && <Loading rows={2} />}
      {asked.isError && !asked.data && <Failed error={asked.error} retry={() => asked.refetch()} />}
      {asked.data?.items.length === 0 && (
        <Empty title="No keys">A key lets a program in, in your place, until you revoke it.</Empty>
      )}
      {asked.data && asked.data.items.length > 0 && (
        <Table label="API keys">
          <thead>
            <tr>
              <Th>Name</Th>
              <Th>Scopes</Th>
              <Th className="hidden sm:table-cell">Last used</Th>
              <Th className="hidden sm:table-cell">Ends</Th>
              <Th>
                <span className="sr-only">Actions</span>
              </Th>
            </tr>
          </thead>
          <tbody>
            {asked.data.items.map((key) => (
              <Tr key={key.id}>
                <Td className="wrap-anywhere font-medium">{key.name}</Td>
                <Td>
                  <span className="flex flex-wrap gap-1">
                    {key.scopes.map((scope) => (
                      <Tag key={scope}>{scope}</Tag>
                    ))}
                  </span>
                </Td>
                <Td className="hidden sm:table-cell">
                  <Moment at={key.last_used_at} />
                </Td>
                <Td className="hidden sm:table-cell">
                  {key.expires_at ? <Moment at={key.expires_at} /> : "never"}
                </Td>
                <Td className="py-1 text-right">
                  <Button size="small" onClick={() => setRevoking(key)}>
                    Revoke
                  </Button>
                </Td>
              </Tr>
            ))}
          </tbody>
        </Table>
      )}
      {adding && <NewKey onClose={() => setAdding(false)} onDone={again} />}
      <Confirm
        open={Boolean(revoking)}
        onClose={() => setRevoking(undefined)}
        title={`Revoke ${revoking?.name ?? ""}`}
        act="Revoke"
        danger
        onAct={async () => {
          if (!revoking) return;
          await done(api.DELETE("/api-keys/{id}", { params: { path: { id: revoking.id } } }));
          await again();
          say(`Revoked: ${revoking.name}`);
        }}
      >
        <p>Whatever uses this key is shut out from its next request on.</p>
      </Confirm>
    </Panel>
  );
}

function NewKey({ onClose, onDone }: { onClose: () => void; onDone: () => Promise<void> }) {
  const [error, setError] = useState<unknown>();
  const [made, setMade] = useState<string>();
  const fields = fieldsOf(error);
  const submit = async (event: FormEvent<HTMLFormElement>) => {
    event.preventDefault();
    const form = new FormData(event.currentTarget);
    const until = String(form.get("until"));
    const scopes = form.getAll("scopes").map(String);
    try {
      const body = {
        name: String(form.get("name")),
        scopes,
        expires_at: until ? fromLocalField(until) : undefined,
      };
      const { key } = await done(api.POST("/api-keys", { body }));
      await onDone();
      setMade(key);
    } catch (problem) {
      setError(problem);
    }
  };
  if (made) {
    return (
      <Dialog open onClose={onClose} title="Your new key">
        <div className="space-y-4 text-sm">
          <p>This is the only time that it is shown.</p>
          <Code label="Key">{made}</Code>
          <div className="flex justify-end">
            <Button kind="primary" onClick={onClose}>
              I have it
            </Button>
          </div>
        </div>
      </Dialog>
    );
  }
  return (
    <Dialog open onClose={onClose} title="New API key">
      <form onSubmit={submit} className="space-y-4">
        <Field label="Name" error={fields.name}>
          <Input name="name" required autoComplete="off" placeholder="nightly build" />
        </Field>
        <fieldset>
          <legend className="mb-1 font-medium text-sm">Good for</legend>
          <div className="flex gap-4">
            {SCOPES.map((scope) => (
              <label key={scope} className="flex items-center gap-1.5 text-sm">
                <input
                  type="checkbox"
                  name="scopes"
                  value={scope}
                  defaultChecked={scope === "read"}
                  className="accent-(--ink)"
                />
                {scope}
              </label>
            ))}
          </div>
          {fields.scopes && <p className="mt-1 text-bad text-xs">{fields.scopes}</p>}
        </fieldset>
        <Field label="Ends at" hint="Left empty, it holds until it is revoked." error={fields.expires_at}>
          <Input name="until" type="datetime-local" />
        </Field>
        {error !== undefined && Object.keys(fields).length === 0 && <Refusal>{inWords(error)}</Refusal>}
        <div className="flex justify-end gap-2">
          <Button onClick={onClose}>Cancel</Button>
          <Button type="submit" kind="primary">
            Create key
          </Button>
        </div>
      </form>
    </Dialog>
  );
}
