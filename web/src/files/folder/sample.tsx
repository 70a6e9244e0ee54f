import { useMutation } from '@tanstack/react-query'
import type { StorageLocation } from '../../api/locations.ts'
import { texts } from '../../texts/start.ts'
import { texts as uiTexts } from '../../texts/ui.ts'
import { Button } from '../../ui/button.tsx'
import { Icon } from '../../ui/icons.tsx'
import { notifyError } from '../../ui/toasts.tsx'
import { uploadFiles } from '../upload/waiting-uploads.ts'
import { useSampleMemory } from './sample-folder.ts'

/** Uploads a folder with a few small files, with which people try things out. */
export function AddSample({ folder }: { folder: StorageLocation }) {
  const { remember } = useSampleMemory(folder, texts.sample)
  const add = useMutation({
    mutationFn: async () => {
      const files = (await sampleFiles()).map(file => ({ file, relativePath: `${texts.sample}/${file.name}` }))
      remember()
      uploadFiles({ selection: { files, emptyFolders: [] }, providerId: folder.providerId, folder: folder.path })
    },
    onError: notifyError,
  })
  return (
    <Button onPress={() => add.mutate()} isPending={add.isPending}>
      {texts.addSample}
    </Button>
  )
}

/** Offers to remove the sample folder. */
export function SampleBar({ folder, name, onRemove }: { folder: StorageLocation; name: string; onRemove: () => void }) {
  const { forget } = useSampleMemory(folder, name)
  return (
    <div className="notice sample-bar">
      <span>{texts.sampleHelp(name)}</span>
      <Button onPress={onRemove}>{texts.removeSample}</Button>
      <button type="button" className="icon-button" aria-label={uiTexts.dismiss} onClick={forget}>
        <Icon name="cross" />
      </button>
    </div>
  )
}

const birds = `Bird,Wingspan (cm),Weight (g)
Robin,21,18
Blackbird,36,100
Barn owl,88,330
Herring gull,137,1000
White stork,165,3500
`

/** @throws TypeError or Error if the picture cannot be fetched */
async function sampleFiles(): Promise<File[]> {
  const picture = await fetch(new URL('./hills.png', import.meta.url))
  if (!picture.ok) throw new Error(uiTexts.serverUnavailable(picture.status))
  return [
    new File([`# Stowage\n\n${texts.sampleWelcome}\n`], 'Welcome.md', { type: 'text/markdown' }),
    new File([birds], 'Birds.csv', { type: 'text/csv' }),
    new File([await picture.blob()], 'Hills.png', { type: 'image/png' }),
  ]
}
