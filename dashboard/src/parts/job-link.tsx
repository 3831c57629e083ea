/** A job by its name, where only its id is known. */
import { useQuery } from "@tanstack/react-query";
import { Link } from "@tanstack/react-router";
import { jobName } from "@/api/queries";

export function JobLink({ id }: { id: string }) {
  const asked = useQuery(jobName(id));
  if (asked.isError) return <span className="text-faint">a job that is gone</span>;
  return (
    <Link to="/jobs/$id" params={{ id }} className="truncate font-medium underline-offset-2 hover:underline">
      {asked.data ?? "…"}
    </Link>
  );
}
