import type { Code } from './highlight-worker.ts'
import { type Language, loadLanguage, type Token } from './languages.ts'

/** Milliseconds. */
const deadline = 20_000

/**
 * Splits a text into lines of colored tokens.
 * @throws if the colors cannot be loaded or take longer than the deadline
 */
export async function highlight(text: string, language: Language, signal: AbortSignal): Promise<Token[][]> {
  const { default: grammar } = await loadLanguage(language)
  const code: Code = { text, language, grammar }
  const worker = new Worker(new URL('./highlight-worker.ts', import.meta.url), { type: 'module' })
  const ended = AbortSignal.any([signal, AbortSignal.timeout(deadline)])
  return new Promise<Token[][]>((resolve, reject) => {
    ended.addEventListener('abort', () => reject(ended.reason))
    worker.addEventListener('error', reject)
    worker.addEventListener('message', ({ data }: MessageEvent<Token[][]>) => resolve(data))
    worker.postMessage(code)
  }).finally(() => worker.terminate())
}
