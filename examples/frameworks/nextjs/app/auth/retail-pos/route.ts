import { connection } from "next/server";
import { pos } from "../../../lib/retail-pos";

export const GET = (request: Request) => connection().then(() => pos().login.start(request));
