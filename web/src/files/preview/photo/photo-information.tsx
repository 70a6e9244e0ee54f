import { useQuery } from '@tanstack/react-query'
import { runInWorker } from '../../../lib/worker-task.ts'
import { formatMinute } from '../../../texts/format.ts'
import { texts } from '../../../texts/viewers.ts'
import { CopyButton } from '../../../ui/copy-button.tsx'
import { Facts } from '../facts.tsx'
import { contentKey, type ViewedFile } from '../viewer.ts'
import { readBytes } from '../viewers/bytes.ts'
import type { PhotoFacts } from './facts.ts'

/** Bytes of the beginning of a file, where cameras store the facts. */
const headBytes = 256 * 1024
/** Milliseconds. */
const deadline = 10_000

/** Shows what the camera has stored in a photo. Photos without such facts, and those that cannot be read, have nothing to show. */
export function PhotoInformation({ file }: { file: ViewedFile }) {
  const { data } = useQuery({
    queryKey: ['photo', ...contentKey(file)],
    queryFn: ({ signal }) => readFacts(file, signal),
    gcTime: 0,
    retry: false,
    staleTime: Number.POSITIVE_INFINITY,
  })
  if (!data) return null
  const { takenAt, camera, lens, exposure, aperture, sensitivity, focalLength, width, height, place, altitude } = data
  const settings = [
    exposure === null ? null : texts.exposure(exposure),
    aperture === null ? null : texts.aperture(aperture),
    sensitivity === null ? null : texts.sensitivity(sensitivity),
    focalLength === null ? null : texts.focalLength(focalLength),
  ].filter(text => text !== null)
  const at = place && texts.coordinates(place.latitude, place.longitude)
  return (
    <section aria-label={texts.photo}>
      <h3>{texts.photo}</h3>
      <Facts
        facts={[
          [texts.takenAt, takenAt && formatMinute(takenAt.toISOString())],
          [texts.camera, camera],
          [texts.lens, lens],
          [texts.settings, settings.length === 0 ? null : settings.join(' · ')],
          [texts.dimensions, width !== null && height !== null ? texts.pixelsOf(width, height) : null],
          [texts.place, at && (altitude === null ? at : `${at}, ${texts.altitude(altitude)}`)],
        ]}
      />
      {place && <CopyButton text={`${place.latitude}, ${place.longitude}`} label={texts.copyPlace} />}
    </section>
  )
}

async function readFacts(file: ViewedFile, signal: AbortSignal): Promise<PhotoFacts | null> {
  const bytes = await readBytes(await file.read({ start: 0, end: headBytes - 1 }, signal), headBytes)
  const worker = new Worker(new URL('./facts-worker.ts', import.meta.url), { type: 'module' })
  return runInWorker<PhotoFacts | null>(worker, bytes.buffer, AbortSignal.any([signal, AbortSignal.timeout(deadline)]))
}
