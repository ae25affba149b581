// The search services: one file each beside this one, and one name each in the list.
import type { SearchSettings } from "../settings.js";
import type { SearchBackend } from "./backend.js";
import { brave } from "./brave.js";
import { searxng } from "./searxng.js";
import { tavily } from "./tavily.js";

export const backends: Readonly<Record<SearchSettings["backend"], SearchBackend>> = { searxng, brave, tavily };
