"""Words around the names of places that say whether a place is meant."""

from __future__ import annotations

from engine.text.facts.unit_names import word_set

PERSONAL = word_set(
    "Adelaide Alexandria Andrea Aurora Austin Brooklyn Bradford Camila Carolina Carson Chad "
    "Charlotte Chelsea Chester Clinton Dallas Dakota Diego Eugene Everett Florence Francisco "
    "Georgia Hamilton Houston Irving Israel Jackson Jersey Jordan Kent Kitty Lawrence Leon "
    "Lincoln Logan Lourdes Lucia Madison Marion Milan Nancy Nelson Norman Odessa Orlando "
    "Paris Phoenix Preston Regina Roma Salvador Santiago Savannah Siena Sofia Stafford Sydney "
    "Troy Tyler Valencia Vienna Victoria Virginia Warren Washington Wellington Winston "
    "Montgomery Columbus Lima India China Kenya Ireland Holland Love Cory Benin Malia Kobe "
    "Davis Mercedes Guadalupe Dolores Concepcion Trinidad Kingston Ashford Ashton Clifton "
    "Crosby Sterling Stanley Spencer Marco"
)
"""Names of places that people bear too: more is asked of them."""

COMMON = word_set(
    "Reading Nice Mobile Of Bath Split Hull Cork Deal Sale March Rugby Man Bury Wells Orange "
    "Most Same Best Ham Rye Lens Tours Angers Bar Ho As Can Poole Ware Born Union Central "
    "Enterprise Independence Liberty Opportunity Normal Superior Surprise Progress Police Bay "
    "Mission Hope Along Data Date Male Goes Vista Coral Crystal Eagle Fleet Imperial Moss "
    "Pearl Pala Sandy Spring Standard Battle Bend Page Gap Cary Buy Much Wink Street Hyde "
    "Temple Home Colon Ames Sari Many Asha Waterproof Bran Pau Gent Metro Ripon Sit Una Vera "
    "Para Ibe Bor Och Un Ye Wa Po Ban Bo Sur"
)
"""Names of cities that are words as well: believed only with their country behind them, or where
people live in them."""

LIVING = word_set("live lives lived living")
"""Before "in", only a place makes sense, whatever its name."""

COUNTRIES_OF_PEOPLE = word_set("Jordan Chad Georgia Israel Jersey")
"""Countries among the personal names that are more often a person."""

IN = word_set("in near around outside across throughout within inside visit visited visiting")
"""After these only a place makes sense."""

TOWARDS = word_set(
    "at from to of via through between leaving left reached reach arrived departed toward "
    "towards into and"
)
"""After these a place is likely."""

TITLES = word_set(
    "mr mrs ms miss dr prof professor aunt uncle queen king prince princess lady lord sir "
    "dear hi hello hey"
)
"""Before the name of a person."""

SITES = word_set(
    "university airport bridge museum station church cathedral stadium library park garden "
    "gardens hospital college school institute theatre theater opera zoo castle palace tower "
    "market square hall arena festival marathon chapel temple mosque abbey harbour harbor "
    "port planetarium observatory racecourse plaza convention city county district province "
    "region island valley public national international metropolitan state central beach lake "
    "river mount airport's"
)
"""Buildings, institutions and areas that carry the name of their place."""

PARTS = word_set(
    "north south east west northern southern eastern western central greater upper lower "
    "downtown northeast northwest southeast southwest inner old"
)
"""Parts of a city or a country."""

NAMING = word_set("new little fort san santa saint st el la los las lake mount cape")
"""Words that begin a longer name."""

PARTICLES = word_set("du de di del della des der von van dos das")
"""Words that go on a longer name."""

TRAVEL = word_set("went go going travel travelled traveled flew fly flying moved move trip back")
"""Before "to", a place follows."""

FUNCTION = word_set(
    "and or but with for in on at to from by as is was are were has had where which who that "
    "when while because after before during since until so if then again i we you he she they "
    "it the a an this last next every today tomorrow yesterday tonight would will can could "
    "should may might also often always never just back soon about one two three four five six "
    "seven eight nine ten eleven twelve"
)
"""What may follow a place that is not before a noun."""

RULING = word_set("capital governor president government people south north parliament border")
"""Before "of", a country or a city follows."""

THINGS = word_set("China Turkey Guinea Chile Mali Cuba Surat Faro Bursa Java Lagos Leon Lome Male")
"""In small letters these are things."""
