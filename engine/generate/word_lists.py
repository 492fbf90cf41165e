"""The people, things and doings that scenes are made of. All brands and groups are invented."""

from __future__ import annotations

from dataclasses import dataclass

from engine.generate.wording import words

FIRST_NAMES = words(
    """
    Amina Anouk Arjun Astrid Aylin Bartosz Beatriz Bogdan Caoimhe Casimir Chidi Clementine Dagny
    Daichi Darius Delphine Dorothea Edda Ekene Elif Emeka Enzo Elodie Farida Finola Fumiko
    Gideon Giulia Greta Hamza Hanneke Haruto Hedwig Idris Ignacio Ilse Ingrid Ioana Isidro
    Jaroslav Jocasta Jorunn Kamila Katarzyna Kenji Kwame Ladislav Laszlo Leocadia Liesbeth
    Lorenzo Lucasta Maarten Magnus Mahmoud Maren Matilda Mihai Mirela Nadia Naomi Nikhil Noor
    Oluwaseun Ottilie Pascale Pernille Petros Philippa Priya Quentin Radmila Renske Ranjit
    Rosalind Sanjay Satoko Seraphina Sigrid Solveig Soren Stellan Svetlana Tadeusz Takumi Tamsin
    Thandiwe Torsten Ulrika Umberto Valentina Vasilis Wanjiru Wilhelmina Xiomara Yasmin Yevgeni
    Youssef Zdenka Zoltan
    """
)
LAST_NAMES = words(
    """
    Abernathy Adeyemi Albrecht Andersson Antonelli Asante Bachmann Balogun Banerjee Bergstrom
    Brightwell Carvalho Chaudhary Claesson Dimitriou Dlamini Drummond Eriksen Fairweather Feldman
    Fernandes Fitzgerald Gallagher Gruber Halloran Haraldsen Hirabayashi Iversen Jankowski Kaplan
    Kowalczyk Krishnan Lindqvist Lombardi MacAuley Marchetti Mbeki Moreau Nakagawa Novotny
    Obermeier Okonkwo Pelletier Petrovic Quigley Raghavan Rosenthal Sandoval Schreiber Tanizaki
    Tillman Underhill Vandermeer Valdemarin Whitcombe Wojcik Yoshimatsu Yilmaz Zeller Zimmerman
    """
)
JOBS = (
    "piano tuner", "school caretaker", "dental nurse", "bee inspector", "tram driver",
    "bookbinder", "locksmith", "vet", "court clerk", "stage hand", "bricklayer", "pharmacist",
    "sign painter", "ferry pilot", "cheesemaker", "night porter", "tax adviser", "glass blower",
    "midwife", "surveyor", "proof reader", "roofer", "sound engineer", "tailor", "warehouse clerk",
    "physiotherapist", "chimney sweep", "radio host", "landscape gardener", "watchmaker",
    "speech therapist", "crane operator", "librarian", "pastry cook", "translator", "welder",
)  # fmt: skip
_GROUP_WORDS = (
    "Lantern", "Copper Kite", "Quiet Otter", "Marigold", "Paper Boat", "Tin Whistle", "Juniper",
    "Blue Ladder", "Thistledown", "Round Table", "Old Mill", "Salt Road", "Green Door", "Harebell",
    "Candlewick", "Long Meadow", "Crooked Spoon", "Wooden Spoke", "Silver Birch", "Rook and Raven",
    "Brass Button", "Sandpiper", "Walnut Tree", "Wandering Goose", "Clay Pipe", "Open Gate",
    "Hazel Bank", "Red Thread", "Barn Owl", "Little Bridge", "Foxglove", "Stone Well",
)  # fmt: skip
_GROUP_KINDS = (
    "Society", "Club", "Circle", "Association", "Collective", "Guild", "Neighbours", "Volunteers",
    "Foundation", "Friends",
)  # fmt: skip
GROUPS = tuple(f"the {word} {kind}" for word in _GROUP_WORDS for kind in _GROUP_KINDS)
_BRAND_HEADS = (
    "Tov", "Kes", "Bren", "Orl", "Sulm", "Vad", "Quen", "Zor", "Ard", "Nim", "Pelv", "Grav",
)  # fmt: skip
_BRAND_TAILS = ("enna", "trin", "ovik", "una", "ardo", "ette", "isk", "omar", "elle", "owyn")
BRANDS = tuple(head + tail for head in _BRAND_HEADS for tail in _BRAND_TAILS)
LINES = (
    "Alder", "Birch", "Comet", "Dune", "Ember", "Fjord", "Granite", "Heron", "Indigo", "Jade",
    "Kelp", "Lotus", "Meteor", "Nimbus", "Opal", "Pebble", "Quartz", "Reed", "Saffron", "Tundra",
)  # fmt: skip
ITEMS = (
    "cargo bicycle", "espresso machine", "telescope", "sewing machine", "corner sofa", "cello",
    "laptop", "wood stove", "wide-angle lens", "tandem kayak", "dishwasher", "digital piano",
    "standing desk", "chest freezer", "drawing tablet", "camping trailer", "wardrobe", "accordion",
    "pottery kiln", "lawn tractor", "projector", "rowing machine", "dining table", "mattress",
    "electric scooter", "washing machine", "violin", "greenhouse", "table saw", "camera",
    "hearing aid", "office chair", "bread oven", "surfboard", "wheelchair", "loom",
    "microscope", "drum kit", "tent", "amplifier", "sideboard", "air conditioner", "wedding dress",
    "treadmill", "printing press", "garden shed", "record player", "armchair", "refrigerator",
    "snow blower", "hot tub", "bunk bed", "carpet", "pressure washer", "harp", "tablet computer",
    "wine cabinet", "fireplace", "cement mixer", "beehive set",
)  # fmt: skip
CURRENCIES = ("USD", "EUR", "GBP")


@dataclass(frozen=True, slots=True)
class Activity:
    """One thing to do, in the forms that sentences need.

    Attributes:
        doing, did, do: "mending nets", "mended nets", "mend nets".
    """

    doing: str
    did: str
    do: str


_ACTIVITIES = """
mending|mended|mend|fishing nets
counting|counted|count|garden birds
restoring|restored|restore|the wooden carousel
baking|baked|bake|rye loaves for the shelter
pruning|pruned|prune|the pear trees
rehearsing|rehearsed|rehearse|a puppet play
painting|painted|paint|the bandstand
cataloguing|catalogued|catalogue|old maps
clearing|cleared|clear|the towpath
sorting|sorted|sort|donated spectacles
dyeing|dyed|dye|wool with onion skins
tuning|tuned|tune|the church bells
printing|printed|print|lino posters
carving|carved|carve|spoons from cherry wood
repairing|repaired|repair|bicycles for pupils
planting|planted|plant|hedgerow saplings
filming|filmed|film|a short about dry stone walls
digging|dug|dig|a wildlife pond
recording|recorded|record|lullabies in dialect
teaching|taught|teach|knots to the cadets
folding|folded|fold|paper lanterns
pressing|pressed|press|cider
building|built|build|nest boxes
mapping|mapped|map|wheelchair ramps
stitching|stitched|stitch|costumes for the pageant
polishing|polished|polish|the fire engine
testing|tested|test|the water of the brook
smoking|smoked|smoke|trout over beech chips
practising|practised|practise|morris dances
judging|judged|judge|jam at the fete
binding|bound|bind|a recipe book
flying|flew|fly|box kites
rowing|rowed|row|the replica longboat
weaving|wove|weave|willow baskets
drawing|drew|draw|portraits of regulars
grafting|grafted|graft|apple trees
shearing|sheared|shear|the rare sheep
decorating|decorated|decorate|the parade float
cooking|cooked|cook|goulash for the campers
photographing|photographed|photograph|moths at a light trap
translating|translated|translate|sea shanties
rebuilding|rebuilt|rebuild|the steam pump
glazing|glazed|glaze|tiles for the fountain
hanging|hung|hang|the quilt exhibition
trying out|tried out|try out|the new climbing wall
singing|sang|sing|madrigals at the care home
measuring|measured|measure|the churchyard yews
racing|raced|race|home-made rafts
harvesting|harvested|harvest|hops
cleaning|cleaned|clean|the model railway
learning|learned|learn|sign language
tasting|tasted|taste|heather honey
rehanging|rehung|rehang|the theatre curtain
varnishing|varnished|varnish|the punts
playing|played|play|cribbage
staging|staged|stage|a treasure hunt
laying|laid|lay|a mosaic floor
brewing|brewed|brew|nettle beer
ringing|ringed|ring|young swallows
reading|read|read|ghost stories aloud
"""


def _activity(line: str) -> Activity:
    doing, did, do, what = line.split("|")
    return Activity(f"{doing} {what}", f"{did} {what}", f"{do} {what}")


ACTIVITIES = tuple(map(_activity, _ACTIVITIES.split("\n")[1:-1]))
