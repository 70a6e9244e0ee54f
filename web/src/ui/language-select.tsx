import { useState } from 'react'
import { remember } from '../lib/local-storage.ts'
import { common } from '../texts/common.ts'
import { chosenLanguage, type Language, languageKey, languages } from '../texts/languages.ts'
import { texts } from '../texts/ui.ts'
import { Button } from './button.tsx'
import { Dialog } from './dialog.tsx'
import { Select } from './select.tsx'

const tags = Object.keys(languages) as Language[]
const options = [
  { value: 'browser', title: texts.browserLanguage },
  ...tags.map(tag => ({ value: tag, title: languages[tag].name })),
] as const

/** Chooses the language of the console in this browser, which loads the page again. */
export function LanguageSelect() {
  const [chosen, setChosen] = useState<Language | 'browser'>(chosenLanguage() ?? 'browser')
  return (
    <Select
      label={texts.language}
      description={texts.languageHelp}
      options={options}
      value={chosen}
      onChange={value => {
        setChosen(value)
        remember(languageKey, value)
        location.reload()
      }}
    />
  )
}

export function LanguageDialog({ onClose }: { onClose: () => void }) {
  return (
    <Dialog title={texts.language} onClose={onClose}>
      <LanguageSelect />
      <div className="dialog-actions">
        <Button onPress={onClose}>{common.close}</Button>
      </div>
    </Dialog>
  )
}
