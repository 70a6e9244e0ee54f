import { useQueryClient } from '@tanstack/react-query'
import { useDeferredValue, useEffect, useMemo, useState } from 'react'
import type { StorageLocation } from '../../api/locations.ts'
import { common } from '../../texts/common.ts'
import { texts } from '../../texts/rename.ts'
import { Button } from '../../ui/button.tsx'
import { Choices } from '../../ui/choices.tsx'
import { Dialog } from '../../ui/dialog.tsx'
import { submitting } from '../../ui/field.tsx'
import { BatchFailures, BatchProgress, type Failure } from '../batch.tsx'
import { entryKey, useListing, useRefreshFolder } from '../listing.ts'
import type { Entry } from '../operations.ts'
import { offerUndo } from '../undo.ts'
import { type PlannedName, planNames, type Renaming, type Rule } from './plan.ts'
import { type Drafts, drafts, RuleFields } from './rule-fields.tsx'
import { renameAll } from './run.ts'
import './rename.css'

const kinds = (Object.keys(texts.rules) as Rule['kind'][]).map(value => ({ value, title: texts.rules[value] }))

/** Renames several entries of a folder by a rule, after a preview of all names. Nothing begins while one of them is not possible. */
export function RenameManyDialog({
  folder,
  entries,
  onRenamed,
  onClose,
}: {
  folder: StorageLocation
  entries: readonly Entry[]
  /** Called with the entries that have new names, before the folder shows them. */
  onRenamed: (done: readonly Renaming[]) => void
  onClose: () => void
}) {
  const client = useQueryClient()
  const refresh = useRefreshFolder()
  const listing = useListing(folder)
  // The selection changes while entries are renamed.
  const [chosen, setChosen] = useState(entries)
  const [kind, setKind] = useState<Rule['kind']>('replace')
  const [rules, setRules] = useState<Drafts>(drafts)
  const [progress, setProgress] = useState<{ done: number; total: number } | null>(null)
  const [failures, setFailures] = useState<readonly Failure[]>([])
  const [running, setRunning] = useState<AbortController | null>(null)
  useEffect(() => () => running?.abort(), [running])
  // The entries that are renamed stay as they were before, so that the preview does not follow what happens meanwhile.
  const [all, setAll] = useState(listing.entries)
  if (progress === null && all !== listing.entries) setAll(listing.entries)
  const rule = useDeferredValue(rules[kind])
  const plan = useMemo(() => planNames(chosen, all, rule), [chosen, all, rule])
  const problems = plan.filter(({ problem }) => problem !== null)
  const changed = plan.filter(({ entry, name }) => name !== entry.name)
  const isReady = listing.isComplete && problems.length === 0 && changed.length > 0 && rule === rules[kind]

  const start = async () => {
    if (!isReady) return
    const controller = new AbortController()
    setRunning(controller)
    setFailures([])
    let done = 0
    setProgress({ done, total: changed.length })
    const onDone = () => setProgress({ done: ++done, total: changed.length })
    const outcome = await renameAll(folder, changed, { signal: controller.signal, onDone })
    onRenamed(outcome.done)
    await refresh(folder)
    setProgress(null)
    if (outcome.done.length > 0) {
      const back = outcome.done.map(({ entry, name }) => ({ entry: { ...entry, name }, name: entry.name }))
      const undo = async () => {
        const { failures } = await renameAll(folder, back)
        if (failures[0]) throw failures[0].error
      }
      offerUndo(client, texts.done(outcome.done.length), [folder], [undo])
    }
    if (outcome.failures.length === 0) return onClose()
    setFailures(outcome.failures)
    setChosen(outcome.failures.map(({ item }) => item))
  }
  return (
    <Dialog title={texts.title(chosen.length)} size="large" onClose={onClose} isBusy={progress !== null}>
      <form onSubmit={submitting(() => void start())}>
        <Choices label={texts.rule} layout="row" choices={kinds} value={kind} onChange={setKind} />
        <RuleFields kind={kind} rules={rules} onChange={setRules} />
        <NamePreview plan={plan} />
        <p className={problems.length > 0 ? 'rename-state problem' : 'rename-state'} role="status">
          {!listing.isComplete
            ? texts.loading
            : problems.length > 0
              ? texts.problems(problems.length)
              : texts.changes(changed.length, plan.length)}
        </p>
        {progress && <BatchProgress label={texts.doneCount} {...progress} />}
        {failures.length > 0 && <BatchFailures failures={failures} />}
        <div className="dialog-actions">
          <Button onPress={progress ? () => running?.abort() : onClose}>
            {progress ? common.stop : common.cancel}
          </Button>
          <Button type="submit" variant="primary" isDisabled={!isReady} isPending={progress !== null}>
            {common.rename}
          </Button>
        </div>
      </form>
    </Dialog>
  )
}

/** The present and the new names. Those that are not possible come first. */
function NamePreview({ plan }: { plan: readonly PlannedName[] }) {
  const rows = useMemo(() => plan.toSorted((a, b) => Number(b.problem !== null) - Number(a.problem !== null)), [plan])
  return (
    // biome-ignore lint/a11y/noNoninteractiveTabindex: the table scrolls
    <section className="rename-preview" aria-label={texts.preview} tabIndex={0}>
      <table>
        <thead>
          <tr>
            <th scope="col">{texts.present}</th>
            <th scope="col">{texts.renamed}</th>
          </tr>
        </thead>
        <tbody>
          {rows.map(({ entry, name, problem }) => (
            <tr key={entryKey(entry)} className={problem ? 'problem' : name === entry.name ? 'same' : ''}>
              <td dir="auto">{entry.name}</td>
              <td>
                <bdi>{name}</bdi>
                {problem && <span className="rename-problem">{texts[problem]}</span>}
              </td>
            </tr>
          ))}
        </tbody>
      </table>
    </section>
  )
}
