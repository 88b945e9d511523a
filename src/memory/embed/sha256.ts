/** Off the main thread: hashing a model of a hundred megabytes there would block everything else. */
export async function sha256(bytes: Uint8Array): Promise<string> {
  return Buffer.from(await crypto.subtle.digest('SHA-256', bytes)).toString('hex');
}
