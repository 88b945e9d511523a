import { exec } from './exec.ts';
import { closeStdin, resize, signal, stdin } from './input.ts';
import { list } from './list.ts';
import { output } from './output.ts';
import { execSocket, join } from './sockets.ts';
import { spawn } from './spawn.ts';

export const processRoutes = [
  exec,
  execSocket,
  spawn,
  list,
  output,
  stdin,
  closeStdin,
  signal,
  resize,
  join,
] as const;
