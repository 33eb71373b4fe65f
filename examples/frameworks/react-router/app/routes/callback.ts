import { login } from "../retail-pos.server";
import type { Route } from "./+types/callback";

export const loader = ({ request }: Route.LoaderArgs) => login.callback(request);
