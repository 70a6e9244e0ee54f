import { usageError } from '../errors.ts'
import type { Output } from '../output.ts'

/** Bytes. */
const maxInput = 64 * 1024

/** Asks a question whose answer is no by default. @throws CommandError without a terminal, and the reason of the signal */
export async function confirm(output: Output, question: string): Promise<boolean> {
  if (!process.stdin.isTTY) throw usageError('Without a terminal nobody can confirm this: give --yes.')
  const answer = await output.ask(`${question} [y/N] `, { isHidden: false })
  return /^y(?:es)?$/i.test(answer.trim())
}

/** Asks for a text without showing it. @throws CommandError without a terminal, and the reason of the signal */
export async function askOnTerminal(output: Output, question: string): Promise<string> {
  if (!process.stdin.isTTY)
    throw usageError('Without a terminal nobody can enter a password: store an API key instead.')
  return output.ask(question, { isHidden: true })
}

/**
 * Asks a terminal for a text without showing it, or reads the whole standard input.
 * @throws CommandError if there is no answer or the input is too long, and the reason of the signal
 */
export async function readSecret(output: Output, question: string, signal: AbortSignal): Promise<string> {
  return process.stdin.isTTY ? output.ask(question, { isHidden: true }) : readInput(signal)
}

async function readInput(signal: AbortSignal): Promise<string> {
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
