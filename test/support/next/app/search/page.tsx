import { ApiCall } from "../api-call";

/** When Next learns that this page differs from request to request, the API has been called. */
export default async function Search({ searchParams }: { searchParams: Promise<{ q?: string }> }) {
  const call = await ApiCall();
  const { q } = await searchParams;
  return (
    <>
      {call}
      <p>You searched for {q}</p>
    </>
  );
}
