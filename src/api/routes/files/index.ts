import { chmod, copy, mkdir, move, remove, replace } from './change.ts';
import { append, archive, extract, read, write } from './content.ts';
import { download, save, upload } from './local.ts';
import { grep, list, search, stat, watch } from './look.ts';

export const fileRoutes = [
  list,
  remove,
  stat,
  read,
  write,
  append,
  archive,
  extract,
  search,
  grep,
  watch,
  mkdir,
  move,
  copy,
  chmod,
  replace,
  save,
  download,
  upload,
] as const;
