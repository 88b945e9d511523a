import { join } from 'node:path';
import { z } from 'zod';
import type { Machine } from '../machine/machine.ts';
import { folder, positive, size } from './setting-types.ts';

export function gatewaySettings(machine: Machine) {
  return z
    .strictObject({
      host: z.string().min(1).default('127.0.0.1').describe('the address to listen on'),
      port: z.number().int().min(0).max(65_535).default(4430).describe('the port; 0: a free port'),
      auth: z.enum(['keys', 'off']).default('keys').describe('off is refused on a public address'),
      keys_file: folder.default(join(machine.stateDir, 'keys.db')).describe('the hashes of the API keys'),
      allowed_hosts: z
        .array(z.string())
        .default([])
        .describe('allowed host names in URLs, besides localhost and IP addresses'),
      tls_cert: folder.optional().describe('certificate of the gateway for HTTPS (PEM file, with its chain)'),
      tls_key: folder.optional().describe('key of gateway.tls_cert (PEM file)'),
      allowed_origins: z.array(z.string()).default([]).describe('other origins whose pages may call the API'),
      rate: positive.default(100).describe('requests per second of one key; bursts of ten times that'),
      scope_rates: z
        .record(z.string(), positive)
        .default({})
        .describe('lower rates by scope: { "memory:write": 20 }'),
      failure_rate: positive.default(0.5).describe('failed logins per second from one address'),
      metrics: z
        .enum(['admin', 'loopback'])
        .default('admin')
        .describe(
          'who may read /metrics: keys with the scope admin; loopback: also every program on this machine',
        ),
      keep_events: positive.int().default(50_000).describe('number of events to keep'),
      sandboxes: z.boolean().default(true).describe('whether this gateway hosts sandboxes'),
      log_size: size
        .nullable()
        .default(10 * 1024 ** 2)
        .describe('size at which a log file of the host (2>> FILE) is moved to FILE.1; null: never'),
      log_level: z
        .enum(['trace', 'debug', 'info', 'warn', 'error', 'silent'])
        .default('info')
        .describe('log format on stderr: JSON, or text on a terminal'),
    })
    .prefault({});
}

export const e2bSettings = z
  .strictObject({
    templates: z
      .record(z.string().min(1), z.string().min(1))
      .default({})
      .describe('images by E2B template name, besides base: { "node": "node:24" }'),
    domain: z
      .string()
      .regex(
        /^[a-z0-9]([a-z0-9.-]*[a-z0-9])?(:\d{1,5})?$/,
        'a host name in lower case, with a port if it has one',
      )
      .nullable()
      .default(null)
      .describe(
        'servers in sandboxes get the names PORT-ID.DOMAIN, open to everybody who knows the name; *.DOMAIN must lead to this gateway',
      ),
  })
  .prefault({});
