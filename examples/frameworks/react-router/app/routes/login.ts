import { login } from "../retail-pos.server";
import type { Route } from "./+types/login";

export const loader = ({ request }: Route.LoaderArgs) => login.start(request);
