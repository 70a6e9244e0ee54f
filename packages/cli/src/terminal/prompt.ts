import { once } from 'node:events'
import { createInterface } from 'node:readline/promises'
import { Writable } from 'node:stream'
import { usageError } from '../errors.ts'

/** Bytes. */
const maxInput = 64 * 1024

/** Asks for a text without showing it. @throws CommandError if the input ends, and the reason of the signal */
export async function askSecret(question: string, signal: AbortSignal): Promise<string> {
  try {
    return await ask(question, { isHidden: true, signal })
  } finally {
    process.stderr.write('\n')
  }
}

/** Asks a question whose answer is no by default. @throws CommandError without a terminal, and the reason of the signal */
export async function confirm(question: string, signal: AbortSignal): Promise<boolean> {
  if (!process.stdin.isTTY) throw usageError('Without a terminal nobody can confirm the deletion: give --yes.')
  const answer = await ask(`${question} [y/N] `, { isHidden: false, signal })
  return /^y(?:es)?$/i.test(answer.trim())
}

async function ask(
  question: string,
  { isHidden, signal }: { isHidden: boolean; signal: AbortSignal },
): Promise<string> {
  const nowhere = new Writable({ write: (_chunk, _encoding, done) => done() })
  const output = isHidden ? nowhere : process.stderr
  // From here, the terminal shows only what this program writes.
  const lines = createInterface({ input: process.stdin, output, terminal: true, historySize: 0 })
  // Ctrl-C arrives here and not as a signal.
  lines.on('SIGINT', () => process.kill(process.pid, 'SIGINT'))
  const ended = once(lines, 'close').then(() => {
    throw usageError('The input ended without an answer.')
  })
  try {
    if (isHidden) process.stderr.write(question)
    return await Promise.race([lines.question(isHidden ? '' : question, { signal }), ended])
  } catch (error) {
    signal.throwIfAborted()
    throw error
  } finally {
    ended.catch(() => {})
    lines.close()
  }
}

/** Reads the whole standard input. @throws CommandError if it is too long */
export async function readInput(signal: AbortSignal): Promise<string> {
  const chunks: Buffer[] = []
  let length = 0
  const stop = () => process.stdin.destroy()
  signal.addEventListener('abort', stop, { once: true })
  try {
    for await (const chunk of process.stdin as AsyncIterable<Buffer>) {
      length += chunk.length
      if (length > maxInput) throw usageError(`The input has more than ${maxInput} bytes.`)
      chunks.push(chunk)
    }
  } finally {
    signal.removeEventListener('abort', stop)
  }
  signal.throwIfAborted()
  return Buffer.concat(chunks).toString()
}
