import { useQueryClient } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useRef, useState, useSyncExternalStore } from 'react'
import { Button } from '../../ui/button.tsx'
import { tellError } from '../../ui/toasts.tsx'
import '../files.css'
import { formatBytes, formatCount, formatDuration } from '../../ui/format.ts'
import { Icon } from '../icons.tsx'
import { noteStored } from '../listing.ts'
import { type Totals, type UploadItem, UploadQueue } from './queue.ts'
import { UploadRow } from './row.tsx'
import { registerQueue, type Upload, useWaitingUploads } from './waiting-uploads.ts'

/** Pixels, as in files.css. */
const rowHeight = 76

/** All uploads, in a corner of every page. */
export function UploadPanel({ userId }: { userId: string }) {
  const queue = useQueue(userId)
  return queue ? <OpenPanel queue={queue} /> : null
}

function useQueue(userId: string): UploadQueue | null {
  const client = useQueryClient()
  const [queue, setQueue] = useState<UploadQueue | null>(null)
  useEffect(() => {
    const made = new UploadQueue(userId, (providerId, path, { size, file }) => {
      noteStored(client, { providerId, path }, { size, mimeType: file?.type || null })
    })
    setQueue(made)
    const forget = registerQueue(made)
    return () => {
      forget()
      made.close()
    }
  }, [client, userId])
  return queue
}

function OpenPanel({ queue }: { queue: UploadQueue }) {
  useSyncExternalStore(queue.subscribe, queue.version)
  const [isFolded, setFolded] = useState(false)
  const take = useCallback(
    ({ given, providerId, folder }: Upload) => {
      queue.add(given, providerId, folder).catch(tellError)
    },
    [queue],
  )
  useWaitingUploads(take)
  const totals = queue.totals()
  if (totals.count === 0) return null
  return (
    <section className="upload-panel" aria-label="Uploads">
      <div className="upload-head">
        <h2>{headline(totals)}</h2>
        <button
          type="button"
          className="icon-button"
          aria-expanded={!isFolded}
          aria-label={isFolded ? 'Show the uploads' : 'Fold the uploads'}
          onClick={() => setFolded(!isFolded)}
        >
          <Icon name={isFolded ? 'up' : 'down'} />
        </button>
      </div>
      <Progress totals={totals} />
      {!isFolded && (
        <>
          <Rows queue={queue} />
          <Actions queue={queue} totals={totals} />
        </>
      )}
    </section>
  )
}

function headline({ count, done, states }: Totals): string {
  const trouble = states.failed + states.conflict
  if (states.running + states.waiting + states.stalled > 0) return `Uploading ${done + 1} of ${count}`
  if (trouble > 0) return `${formatCount(trouble, 'upload needs', 'uploads need')} you`
  if (states.paused > 0) return `${formatCount(states.paused, 'upload')} paused`
  if (states.interrupted > 0) return `${formatCount(states.interrupted, 'upload was', 'uploads were')} interrupted`
  return `${formatCount(done, 'upload')} complete`
}

function Progress({ totals: { sent, size, speed, states } }: { totals: Totals }) {
  const percent = size === 0 ? (states.interrupted > 0 ? 0 : 100) : Math.floor((sent * 100) / size)
  const facts = [`${formatBytes(sent)} of ${formatBytes(size)}`]
  if (states.stalled > 0) facts.push('interrupted for now')
  else if (speed > 0) facts.push(`${formatBytes(Math.round(speed))}/s`, `${formatDuration((size - sent) / speed)} left`)
  if (size === 0) return null
  return (
    <div className="upload-progress">
      <div
        className="progress-track"
        role="progressbar"
        aria-label="All uploads"
        aria-valuemin={0}
        aria-valuemax={100}
        aria-valuenow={percent}
      >
        <div className="progress-fill" style={{ width: `${percent}%` }} />
      </div>
      <p>{facts.join(' · ')}</p>
    </div>
  )
}

function Rows({ queue }: { queue: UploadQueue }) {
  const scroller = useRef<HTMLDivElement>(null)
  const items = needyFirst(queue.items)
  const virtualizer = useVirtualizer({
    count: items.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => rowHeight,
    overscan: 4,
  })
  return (
    // biome-ignore lint/a11y/useSemanticElements: a list of which only a part is there
    <div
      ref={scroller}
      className="upload-list"
      style={{ height: virtualizer.getTotalSize() + 1 }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: it scrolls
      tabIndex={0}
      role="list"
      aria-label="Files"
    >
      <div style={{ height: virtualizer.getTotalSize() }} role="presentation">
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const item = items[index]
          return item && <UploadRow key={item.id} item={item} queue={queue} top={start} />
        })}
      </div>
    </div>
  )
}

/** Those that wait for an answer are in view, however many there are. */
function needyFirst(items: readonly UploadItem[]): readonly UploadItem[] {
  const isNeedy = ({ state }: UploadItem) => state === 'conflict' || state === 'failed' || state === 'interrupted'
  const needy = items.filter(isNeedy)
  return needy.length === 0 ? items : [...needy, ...items.filter(item => !isNeedy(item))]
}

function Actions({ queue, totals: { states, count } }: { queue: UploadQueue; totals: Totals }) {
  return (
    <div className="upload-actions">
      {states.running + states.waiting + states.stalled > 0 && (
        <Button variant="quiet" onPress={() => queue.pause(queue.items)}>
          Pause all
        </Button>
      )}
      {states.paused + states.failed > 0 && (
        <Button variant="quiet" onPress={() => queue.resume(queue.items)}>
          {states.paused > 0 ? 'Resume all' : 'Retry all'}
        </Button>
      )}
      {states.done > 0 && (
        <Button variant="quiet" onPress={() => queue.clearDone()}>
          {states.done === count ? 'Close' : 'Clear completed'}
        </Button>
      )}
    </div>
  )
}
