import pytest
import torch

from objectspace.ops.mixtures import gaussian_log_density, with_unknown
from objectspace.ops.stills import best_fit, clusters, medians, without_small_things


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def frames_of(colours, each=15, side=24):
    """Frames of several plain rooms, in random order, with a white thing of 4 x 4 that moves."""
    frames = torch.stack([torch.tensor(colour, dtype=torch.uint8) for colour in colours for _ in range(each)])
    frames = frames[torch.randperm(len(frames), generator=generator())][..., None, None].repeat(1, 1, side, side)
    for number, frame in enumerate(frames):
        x = 5 * number % (side - 4)
        frame[:, x : x + 4, 8:12] = 255
    return frames


ROOMS = [(200, 30, 30), (30, 200, 30), (20, 20, 90)]


def test_one_still_is_the_plain_median_and_its_share_what_is_near_it():
    frames = torch.randint(0, 256, (9, 3, 5, 7), dtype=torch.uint8, generator=generator())
    picture, share = medians(frames, 1, generator())
    expected = frames.float().median(0).values / 255
    near = ((frames.float() / 255 - expected).abs() <= 0.1 + 1e-6).all(1).float().mean(0)
    torch.testing.assert_close(picture, expected[None])
    torch.testing.assert_close(share, near[None], atol=0.0, rtol=0.0)


def test_each_room_has_a_still_without_what_moves():
    pictures, shares = medians(frames_of(ROOMS), 3, generator())
    found = {tuple((each[:, 0, 0] * 255).round().int().tolist()) for each in pictures}
    assert found == set(ROOMS)
    torch.testing.assert_close(pictures, pictures[..., :1, :1].expand_as(pictures))
    assert shares[:, :, :8].eq(1).all()  # nothing moves there
    assert shares[:, 8:12, 8:12].lt(1).any()


def test_the_same_generator_gives_the_same_stills():
    frames = torch.randint(0, 256, (40, 3, 16, 16), dtype=torch.uint8, generator=generator())
    for first, second in zip(medians(frames, 5, generator(3)), medians(frames, 5, generator(3)), strict=True):
        assert torch.equal(first, second)


def test_no_cluster_is_empty_even_among_equal_images():
    assert clusters(torch.zeros(6, 4), 5, generator()).unique().tolist() == [0, 1, 2, 3, 4]
    pictures, shares = medians(torch.zeros(6, 3, 8, 8, dtype=torch.uint8), 6, generator())
    assert pictures.shape == (6, 3, 8, 8)
    assert shares.eq(1).all()


@pytest.mark.parametrize("count", [0, 5])
def test_more_stills_than_images_or_none_are_refused(count):
    with pytest.raises(ValueError, match="ask for 1 to 4"):
        medians(torch.zeros(4, 3, 8, 8, dtype=torch.uint8), count)


def test_the_filter_is_the_median_of_each_window():
    pictures = torch.randint(0, 256, (2, 3, 9, 12), generator=generator()).float() / 255
    padded = torch.nn.functional.pad(pictures, (2, 2, 2, 2), mode="replicate")
    expected = padded.unfold(2, 5, 1).unfold(3, 5, 1).flatten(4).median(4).values
    torch.testing.assert_close(without_small_things(pictures, 5), expected)


def test_small_things_go_and_large_areas_keep_their_edges():
    picture = torch.full((1, 3, 48, 48), 0.2)
    picture[:, 1, 40:] = 0.8  # the ground
    picture[:, :, :, :2] = 0  # a frame
    plain = picture.clone()
    picture[:, 0, 30:34, 10:14] = 1  # a shield
    torch.testing.assert_close(without_small_things(picture, 9)[..., 6:, 6:], plain[..., 6:, 6:])
    assert without_small_things(picture, 9)[0, 0, 10:38, :2].eq(0).all()


def test_the_best_fitting_still_has_the_greatest_bound():
    images, pictures = torch.rand(4, 3, 6, 6, generator=generator()), torch.rand(5, 3, 6, 6, generator=generator(1))
    pictures[3] = images[2] + 0.02
    table = [
        [with_unknown(gaussian_log_density(image[None], still[None], 0.1), 0.2).sum() for still in pictures]
        for image in images
    ]
    chosen = best_fit(images, pictures, 0.1, 0.2)
    assert chosen.tolist() == torch.tensor(table).argmax(1).tolist()
    assert chosen[2] == 3
