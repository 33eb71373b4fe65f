import { Outlet, Scripts } from "react-router";
import type { Route } from "./+types/root";

// A page that fails with 503 says when to come back: `Retry-After`.
export const headers = ({ errorHeaders }: Route.HeadersArgs) => errorHeaders ?? new Headers();

export default function Root() {
  return (
    <html lang="en">
      <body>
        <Outlet />
        <Scripts />
      </body>
    </html>
  );
}
