/**
 * Copies files between this machine and a storage, and reports each one. Tasks enter from `tasks.ts` (`cp`) or from a comparison of two
 * trees (`compare.ts`). `conflict.ts` decides what happens to a file, and a `Route` moves its content.
 */
import { type Conflict, forEachAtOnce, StowageError } from '../../../client/src/index.ts'
import { CommandError, nameTaken, unsafeName } from '../errors.ts'
import type { Output } from '../output.ts'
import type { Item } from '../trees/tree.ts'
import { type Compared, compare } from './compare.ts'
import { type ConflictPolicy, type Decision, decide } from './conflict.ts'
import type { Progress } from './progress.ts'
import type { Route } from './route.ts'

export type Task = () => Promise<void>

/** The fields of a line that reports a file or folder. */
export const stepFields = ['result', 'source', 'target', 'size'] as const
type StepResult = 'copied' | 'skipped' | 'deleted'

interface Step {
  /** Null for a deletion. */
  source: string | null
  target: string
  /** Bytes. */
  size: number | null
}

interface TransferOptions {
  policy: ConflictPolicy | 'sync'
  /** Whether to report only what would be done. */
  isDryRun: boolean
  output: Output
  progress: Progress
  signal: AbortSignal
}

export class Transfer {
  readonly options: TransferOptions
  readonly signal: AbortSignal

  constructor(options: TransferOptions) {
    this.options = options
    this.signal = options.signal
  }

  /** Runs tasks. A task that fails is reported and does not stop the others. */
  async run(tasks: AsyncIterable<Task>, limit: number): Promise<void> {
    await forEachAtOnce(tasks, limit, task => task())
  }

  /** Reports a failure instead of throwing it. @throws the reason of the signal */
  async attempt(subject: string, work: () => Promise<void>): Promise<void> {
    try {
      await work()
    } catch (error) {
      this.fail(error, subject)
    }
  }

  /** @throws the reason of the signal */
  fail(error: unknown, subject: string): void {
    this.signal.throwIfAborted()
    this.options.output.failure(error, subject)
  }

  /**
   * Yields a task for each file of a tree, and for each empty folder.
   * @param onExtra called with what only the target has
   */
  async *treeTasks(
    route: Route,
    { isAtTarget, onExtra }: { isAtTarget: boolean; onExtra?: (extra: Compared) => void },
  ): AsyncGenerator<Task, void, undefined> {
    const onFailure = (error: unknown, steps: readonly string[]) => this.fail(error, route.source.display(steps))
    for await (const compared of compare(route, { isAtTarget, onFailure })) {
      const { steps, source, target } = compared
      if (source) yield () => this.copy(route, { steps, source, target })
      else onExtra?.(compared)
    }
  }

  /** Copies a file or an empty folder. Reports a failure. */
  async copy(route: Route, { steps, source, target }: Compared & { source: Item }): Promise<void> {
    const [from, to] = [route.source.display(steps), route.target.display(steps)]
    await this.attempt(from, async () => {
      const name = steps.at(-1)
      if (name !== undefined && !route.target.accepts(name)) throw unsafeName(name)
      if (source.kind === 'other') return this.#skipSpecial({ source: from, target: to, size: null })
      if (source.kind === 'folder') {
        if (target) throw nameTaken(to)
        const isNew = this.options.isDryRun || (await route.target.makeFolder(steps))
        if (isNew) await this.#print('copied', { source: from, target: to, size: null })
        return
      }
      const decision = decide(this.options.policy, source, target, route.keepsTimes)
      if (decision === 'taken') throw nameTaken(to)
      const written = { source: from, target: to, size: source.size }
      if (decision === 'skip') return this.#report('skipped', written)
      if (this.options.isDryRun) return this.#report('copied', written)
      const stored = await this.#copyFile(route, { steps, source, conflict: this.#conflictOf(decision) })
      await this.#report(stored === null ? 'skipped' : 'copied', { ...written, target: stored ?? to })
    })
  }

  /** Deletes what only the target has. Reports a failure. */
  async remove({ target: tree }: Route, { steps, target }: Compared): Promise<void> {
    const path = tree.display(steps)
    await this.attempt(path, async () => {
      if (target && !this.options.isDryRun) await tree.remove(steps, target)
      await this.#report('deleted', { source: null, target: path, size: target?.size ?? null })
    })
  }

  /** Returns the path of the copy; null if another program took the name meanwhile and the file is skipped. */
  async #copyFile(
    route: Route,
    { steps, source, conflict }: { steps: readonly string[]; source: Item; conflict: Conflict },
  ): Promise<string | null> {
    const { progress, policy } = this.options
    const onBytes = progress.meter()
    try {
      return await route.copy(steps, source, { conflict, signal: this.signal, onBytes })
    } catch (error) {
      onBytes(0)
      const isKnown = error instanceof StowageError || error instanceof CommandError
      if (policy === 'skip' && isKnown && error.reason === 'ALREADY_EXISTS') return null
      throw error
    }
  }

  #conflictOf(decision: Exclude<Decision, 'taken' | 'skip'>): Conflict {
    const { policy } = this.options
    if (decision !== 'write') return decision
    return policy === 'replace' || policy === 'rename' ? policy : 'fail'
  }

  /** Tells the person, also if a bar shows the progress, that the copy is not complete. */
  async #skipSpecial(step: Step & { source: string }): Promise<void> {
    const { progress, output } = this.options
    progress.addSkipped()
    const text = `${step.source} is skipped, because it is a symbolic link or a special file`
    await output.summary({ result: 'skipped', ...step }, text)
  }

  async #report(result: StepResult, step: Step): Promise<void> {
    const { progress } = this.options
    if (result === 'copied') progress.addFile()
    else if (result === 'skipped') progress.addSkipped()
    else progress.addDeleted()
    await this.#print(result, step)
  }

  async #print(result: StepResult, step: Step): Promise<void> {
    const record = { result, ...step } satisfies Record<(typeof stepFields)[number], unknown>
    const verb = this.options.isDryRun ? `would be ${result}` : result
    const path = step.source === null ? step.target : `${step.source} -> ${step.target}`
    await this.options.output.step(record, `${path} ${verb}`)
  }
}
