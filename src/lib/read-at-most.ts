/** Reads the body of a response. @throws Error for more than `most` bytes, and what the response throws */
export async function readAtMost(response: Response, most: number): Promise<Buffer<ArrayBuffer>> {
  const chunks: Uint8Array[] = []
  let length = 0
  for await (const chunk of response.body ?? []) {
    length += chunk.length
    // To leave the loop cancels the response.
    if (length > most) throw new Error(`The response has more than ${most} bytes`)
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}
