import { useQueryClient } from '@tanstack/react-query'
import { useVirtualizer } from '@tanstack/react-virtual'
import { useCallback, useEffect, useRef, useState } from 'react'
import { useNotified } from '../../lib/notifier.ts'
import { texts } from '../../texts/uploads.ts'
import { Button } from '../../ui/button.tsx'
import { DockPanel } from '../../ui/dock-panel.tsx'
import { ProgressBar } from '../../ui/progress-bar.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { useIsPhone } from '../../ui/window-size.ts'
import { addToListings, type UploadedFile } from '../listing.ts'
import { type QueuedUpload, type StoredListener, type Totals, UploadQueue } from './queue.ts'
import './upload.css'
import { UploadRow } from './row.tsx'
import { useScreenLock } from './screen-lock.ts'
import { members, type UploadTarget } from './target.ts'
import { registerQueue, type UploadRequest, useWaitingUploads } from './waiting-uploads.ts'

/** Pixels. upload.css sets the same heights. */
const rowHeight = 88
const phoneRowHeight = 108

/** Milliseconds between two updates of the listings, which sort a folder again. */
const listingInterval = 200

/** Shows all uploads in a corner of every page. */
export function UploadPanel({ userId, target = members }: { userId: string; target?: UploadTarget }) {
  const queue = useQueue(userId, target)
  return queue ? <OpenPanel queue={queue} /> : null
}

function useQueue(userId: string, target: UploadTarget): UploadQueue | null {
  const client = useQueryClient()
  const [queue, setQueue] = useState<UploadQueue | null>(null)
  useEffect(() => {
    let stored: UploadedFile[] = []
    let timer: ReturnType<typeof setTimeout> | undefined
    const onStored: StoredListener = (providerId, path, { size, file }) => {
      stored.push({ providerId, path, size, mimeType: file?.type || null })
      timer ??= setTimeout(() => {
        addToListings(client, stored)
        stored = []
        timer = undefined
      }, listingInterval)
    }
    const newQueue = new UploadQueue(userId, onStored, target)
    setQueue(newQueue)
    const unregister = registerQueue(newQueue)
    return () => {
      unregister()
      newQueue.close()
      clearTimeout(timer)
    }
  }, [client, userId, target])
  return queue
}

function OpenPanel({ queue }: { queue: UploadQueue }) {
  const totals = useNotified(queue.changes, () => queue.totals())
  const take = useCallback(
    ({ selection, providerId, folder }: UploadRequest) => {
      queue.add(selection, providerId, folder).catch(notifyError)
    },
    [queue],
  )
  useWaitingUploads(take)
  // An upload that waits for the network may wait for hours.
  useScreenLock(totals.states.uploading > 0)
  return (
    <DockPanel
      label={texts.uploads}
      title={headline(totals)}
      isEmpty={totals.count === 0}
      summary={<Progress totals={totals} />}
    >
      {totals.states.conflict > 1 && <Conflicts queue={queue} count={totals.states.conflict} />}
      <Rows queue={queue} />
      <PanelActions queue={queue} totals={totals} />
    </DockPanel>
  )
}

function headline({ count, done, states }: Totals): string {
  const decisions = states.failed + states.conflict + states.reserved
  if (states.uploading + states.waiting + states.retrying > 0) return texts.uploading(done + 1, count)
  if (decisions > 0) return texts.needAttention(decisions)
  if (states.paused > 0) return texts.paused(states.paused)
  if (states.interrupted > 0) return texts.interrupted(states.interrupted)
  return texts.complete(done)
}

function Progress({ totals: { sent, size, speed, states } }: { totals: Totals }) {
  const percent = size === 0 ? (states.interrupted > 0 ? 0 : 100) : Math.floor((sent * 100) / size)
  const parts = [texts.bytesOf(sent, size)]
  if (states.retrying > 0) parts.push(texts.waitingToRetry)
  else if (speed > 0) parts.push(texts.perSecond(speed), texts.left((size - sent) / speed))
  if (size === 0) return null
  return (
    <div className="upload-progress">
      <ProgressBar label={texts.allUploads} percent={percent} />
      <p>{parts.join(' · ')}</p>
    </div>
  )
}

/** One question for all names that are taken. */
function Conflicts({ queue, count }: { queue: UploadQueue; count: number }) {
  const title = texts.alreadyExist(count)
  return (
    // biome-ignore lint/a11y/useSemanticElements: a fieldset brings its own border and legend
    <div role="group" aria-label={title} className="upload-conflicts">
      <p>{title}</p>
      <Button onPress={() => queue.resolveAll('SKIP')}>{texts.skipAll}</Button>
      <Button onPress={() => queue.resolveAll('REPLACE')}>{texts.replaceAll}</Button>
      <Button onPress={() => queue.resolveAll('RENAME')}>{texts.keepBoth}</Button>
    </div>
  )
}

function Rows({ queue }: { queue: UploadQueue }) {
  const scroller = useRef<HTMLDivElement>(null)
  const isPhone = useIsPhone()
  const uploads = decisionsFirst(queue.uploads)
  const virtualizer = useVirtualizer({
    count: uploads.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => (isPhone ? phoneRowHeight : rowHeight),
    overscan: 4,
  })
  // biome-ignore lint/correctness/useExhaustiveDependencies: the heights change with the width of the window
  useEffect(() => virtualizer.measure(), [isPhone, virtualizer])
  return (
    // biome-ignore lint/a11y/useSemanticElements: a virtual list renders only its visible rows
    <div
      ref={scroller}
      className="upload-list"
      style={{ height: virtualizer.getTotalSize() + 1 }}
      // biome-ignore lint/a11y/noNoninteractiveTabindex: the list scrolls
      tabIndex={0}
      role="list"
      aria-label={texts.files}
    >
      <div style={{ height: virtualizer.getTotalSize() }} role="presentation">
        {virtualizer.getVirtualItems().map(({ index, start }) => {
          const upload = uploads[index]
          return upload && <UploadRow key={upload.id} upload={upload} queue={queue} top={start} />
        })}
      </div>
    </div>
  )
}

/** Puts the uploads that need a decision first, so that they are visible in a long list. */
function decisionsFirst(uploads: readonly QueuedUpload[]): readonly QueuedUpload[] {
  const needsDecision = ({ state }: QueuedUpload) =>
    state === 'conflict' || state === 'reserved' || state === 'failed' || state === 'interrupted'
  const waiting = uploads.filter(needsDecision)
  return waiting.length === 0 ? uploads : [...waiting, ...uploads.filter(upload => !needsDecision(upload))]
}

function PanelActions({ queue, totals: { states, count } }: { queue: UploadQueue; totals: Totals }) {
  return (
    <div className="dock-actions">
      {states.uploading + states.waiting + states.retrying > 0 && (
        <Button variant="quiet" onPress={() => queue.pause(queue.uploads)}>
          {texts.pauseAll}
        </Button>
      )}
      {states.paused + states.failed > 0 && (
        <Button variant="quiet" onPress={() => queue.resume(queue.uploads)}>
          {states.paused > 0 ? texts.resumeAll : texts.retryAll}
        </Button>
      )}
      {states.done < count && (
        <Button variant="quiet" onPress={() => queue.cancelAll()}>
          {texts.cancelAll}
        </Button>
      )}
      {states.done > 0 && (
        <Button variant="quiet" onPress={() => queue.clearDone()}>
          {states.done === count ? texts.close : texts.clearCompleted}
        </Button>
      )}
    </div>
  )
}
